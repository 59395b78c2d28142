/** What a task still wants heard before a vote: plain values in, plain values out. The server adds up the same way. */

// The end of a clip and the rounding of its log; the server forgives as much and a little more.
const TOLERANCE_S = 0.05;

/**
 * From a briefing: the clips that must be heard, in the order shown, and how often to switch.
 * `label` is the letter of a candidate, null for one of the item's own clips, which `field` names.
 */
export function needsOf({ content, candidates, listening }) {
  const own = content.map(({ field, clip }) => ({ clip, field, label: null }));
  const judged = candidates.map(({ label, clip }) => ({ clip, field: null, label }));
  return {
    clips: [...own, ...judged]
      .filter(({ clip }) => clip && clip.must_hear > 0)
      .map(({ clip, field, label }) => ({ name: clip.name, field, label, wanted: clip.must_hear })),
    switches: listening?.min_switches ?? 0,
  };
}

/** Where a rater stands: `heardSeconds(name)` and `switches` as the player has them. */
export function standing(needs, { heardSeconds, switches }) {
  const clips = needs.clips.map((clip) => {
    const heard = Math.min(heardSeconds(clip.name), clip.wanted);
    return { ...clip, heard, enough: heard + TOLERANCE_S >= clip.wanted };
  });
  const switchesLeft = Math.max(0, needs.switches - switches);
  return { clips, switchesLeft, enough: switchesLeft === 0 && clips.every(({ enough }) => enough) };
}

/** Seconds as a meter shows them: whole where there are many, tenths where there are few; never more than was heard. */
export function meter({ heard, wanted }) {
  const scale = wanted < 5 ? 10 : 1;
  return { heard: Math.floor(heard * scale + 1e-6) / scale, wanted: Math.ceil(wanted * scale - 1e-6) / scale };
}

/** What is left of a clip, in whole seconds; at least one while anything is. */
export const secondsLeft = ({ heard, wanted }) => Math.max(1, Math.ceil(wanted - heard - 1e-6));

/** Counts down `seconds` of reading; only time in which the instruction could be seen counts. */
export function createReading(seconds) {
  let left = seconds;
  return {
    pass(elapsed, visible) {
      if (visible) left = Math.max(0, left - elapsed);
      return left;
    },
    get left() {
      return left;
    },
  };
}
