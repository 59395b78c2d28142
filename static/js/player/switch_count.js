/** From one version, some of which was heard, to another is a switch: playing or not, by way of the reference or not. */

/** `isVersion(name)`: one of those compared; `isHeard(name)`: some of it. Returns what to call with (from, to). */
export function createSwitchCount({ isVersion, isHeard, onSwitch }) {
  let heardLast = null;
  return (from, to) => {
    if (isVersion(from) && isHeard(from)) heardLast = from;
    if (!isVersion(to) || heardLast === null || heardLast === to) return;
    heardLast = null;
    onSwitch();
  };
}
