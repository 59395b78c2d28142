/** The clips of a briefing, as player and loader take them. */

/**
 * Clips that are versions of one thing share their place and are switched between: a task's candidates, and in a panel
 * the reference that they are compared with. Any other clip has a place of its own. A recording beside text answers is
 * fetched only when somebody wants to hear it.
 */
export function clipsOf({ content, candidates }) {
  const judged = candidates.filter(({ clip }) => clip).map(({ clip }) => clip);
  const given = content.filter(({ clip }) => clip).map(({ clip }) => clip);
  const isPanel = judged.length > 2;
  return [
    ...given.map((clip) => ({ ...clip, group: isPanel ? "candidates" : clip.name, switches: false, eager: judged.length > 0 })),
    ...judged.map((clip) => ({ ...clip, group: "candidates", switches: true, eager: true })),
  ];
}
