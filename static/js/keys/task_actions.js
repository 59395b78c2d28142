/**
 * Task actions: what the shortcuts of key_map.js do to the current task. An action without a target is left out.
 * `task` is {assignment, definition, view: {form, player}}; `page` has the page's own: submit(), undo(), skip(), showKeys(),
 * focusSubmit(), spectrograms.
 */
import { clearLoop, markLoop } from "../player/transport.js";

const STEP_S = 5;
const VOLUME_STEP = 0.05;

export function taskActions(task, page) {
  const { form } = task.view;
  return {
    ...playbackActions(task),
    ...(page.spectrograms.isAvailable && { spectrogram: page.spectrograms.toggle }),
    ...(marksEvents(task) && { mark: () => form.mark("start"), mark_end: () => form.mark("end") }),
    next_question: () => form.go(1) || page.focusSubmit(),
    previous_question: () => form.go(-1),
    leave_text: () => document.activeElement.blur(),
    submit: page.submit,
    undo: page.undo,
    skip: page.skip,
    help: page.showKeys,
  };
}

const marksEvents = ({ definition }) => definition?.questions.some(({ kind }) => kind === "events") ?? false;

function playbackActions({ assignment, view: { player } }) {
  const candidates = assignment.candidates.filter(({ clip }) => clip).length;
  if (!candidates && !assignment.content.some(({ clip }) => clip)) return {};
  return {
    play: () => player.toggle(),
    ...(candidates > 1 && { switch: () => player.switchOver() }),
    ...(player.has("reference") && { reference: () => player.play("reference") }),
    back5: () => player.seek(player.position() - STEP_S),
    on5: () => player.seek(player.position() + STEP_S),
    restart: () => player.restart(),
    loop_start: () => markLoop(player, "start"),
    loop_end: () => markLoop(player, "end"),
    loop_clear: () => clearLoop(player),
    louder: () => (player.level.volume += VOLUME_STEP),
    quieter: () => (player.level.volume -= VOLUME_STEP),
    mute: () => (player.level.muted = !player.level.muted),
  };
}
