/** Going from one level to another without a click. */

// Of the way to a new volume, per sample at 48 kHz: 10 ms to two thirds of it.
const VOLUME_STEP = 1 / 480;

/** Amplitudes from 0 to 1 along a raised cosine; rising and falling of one length add up to 1 at every sample. */
export function raisedCosine(frames) {
  if (!frames) return new Float32Array([1]);
  return Float32Array.from({ length: frames + 1 }, (_, i) => 0.5 - 0.5 * Math.cos((Math.PI * i) / frames));
}

/** A volume that glides to where it is set. */
export function createVolume() {
  let now = 1;
  let target = 1;
  return {
    set: (value) => (target = value),
    apply(left, right) {
      if (now === 1 && target === 1) return;
      for (let i = 0; i < left.length; i += 1) {
        now += (target - now) * VOLUME_STEP;
        left[i] *= now;
        right[i] *= now;
      }
      if (Math.abs(target - now) < 1e-5) now = target;
    },
  };
}
