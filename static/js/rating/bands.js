/** The named stretches of a continuous scale. Pure. */

/** The stretch a value lies in: at a shared edge the upper one; null outside all of them and for no value. */
export function bandOf(bands, value) {
  if (!Number.isFinite(value)) return null;
  const inside = bands.filter(({ minimum, maximum }) => minimum <= value && value <= maximum);
  return inside.reduce((best, band) => (best && best.minimum >= band.minimum ? best : band), null);
}
