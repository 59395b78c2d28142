/** Amplitudes from 0 to 1 along a raised cosine; rising and falling of one length add up to 1 at every sample. */
export function raisedCosine(frames) {
  if (!frames) return new Float32Array([1]);
  return Float32Array.from({ length: frames + 1 }, (_, i) => 0.5 - 0.5 * Math.cos((Math.PI * i) / frames));
}
