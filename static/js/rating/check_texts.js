/** Listening checks in words: what each check asks, and why one cannot go on. */
import { translate } from "../page/texts.js";

const INTERVALS = [translate("First"), translate("Second"), translate("Third")];
const HEADPHONE_ADVICE = translate(
  "Use headphones with both sides on your ears, in a quiet room. Switch off spatial sound, surround, noise cancelling and “mono audio” in your device's settings.",
);

export const CHECK_TEXTS = {
  level: {
    title: translate("Set the volume"),
    how: translate(
      "Put your headphones on and play the noise. Set the volume of your device so that it is comfortable: as loud as you would like music that you listen to closely.",
    ),
    ask: translate("Is the volume comfortable?"),
    play: translate("Play the noise"),
    again: translate("Play the noise"),
    stop: translate("Stop the noise"),
    passed: translate("The volume is set"),
    keep: translate(
      "Please leave the volume of your device as it is from now on. What you will judge is as loud as this.",
    ),
    help: "",
    choices: [translate("The volume is comfortable")],
  },
  left_right: {
    title: translate("Left and right"),
    how: translate(
      "A short note sounds in one ear. Say in which. If it is always the other one, your headphones are the wrong way round.",
    ),
    ask: translate("In which ear was the note?"),
    play: translate("Play the note"),
    again: translate("Play it again"),
    stop: translate("Stop"),
    passed: translate("Left and right are where they belong"),
    help: translate(
      "Check that your headphones sit the right way round, and that “mono audio” is off in your device's settings.",
    ),
    choices: [translate("Left"), translate("Right")],
  },
  antiphase: {
    title: translate("The quietest tone"),
    how: translate(
      "You hear three tones, one after another. One of them is quieter than the others. This is easy with headphones and hard with loudspeakers.",
    ),
    ask: translate("Which tone was the quietest?"),
    play: translate("Play the tones"),
    again: translate("Play them again"),
    stop: translate("Stop"),
    passed: translate("Your headphones work"),
    help: HEADPHONE_ADVICE,
    choices: INTERVALS,
  },
  huggins: {
    title: translate("The hidden tone"),
    how: translate(
      "You hear three noises, one after another. One of them hides a faint tone, which only headphones let through. Listen closely; the tone is soft but steady.",
    ),
    ask: translate("Which noise hid the tone?"),
    play: translate("Play the noises"),
    again: translate("Play them again"),
    stop: translate("Stop"),
    passed: translate("Your headphones work"),
    help: HEADPHONE_ADVICE,
    choices: INTERVALS,
  },
};

/** By the outcome's code or kind. */
export const CHECK_FAILURES = {
  unreachable: translate("The server cannot be reached. Check your connection."),
  failed: translate("The server has a problem. Try again in a moment."),
  signed_out: translate("You are signed out. Sign in again, then come back to this page."),
  checks_exhausted: translate("You have tried this check too often; try again tomorrow."),
  out_of_turn: translate("This check went on in another window. Reload this page."),
  not_found: translate("This check is over. Reload this page."),
};
