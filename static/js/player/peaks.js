/** Server-made waveforms: pairs of signed bytes (lowest, highest) per column, 127 at full scale. Pure. */
export function decodePeaks(base64) {
  return Int8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** `n` bars from however many columns there are: the extremes of each stretch, as [low, high] from -1 to 1. */
export function bars(peaks, n) {
  const columns = peaks.length / 2;
  return Array.from({ length: n }, (_, bar) => {
    const from = Math.min(columns - 1, Math.floor((bar * columns) / n));
    const to = Math.max(from + 1, Math.floor(((bar + 1) * columns) / n));
    let low = 127;
    let high = -127;
    for (let column = from; column < to && column < columns; column += 1) {
      low = Math.min(low, peaks[2 * column]);
      high = Math.max(high, peaks[2 * column + 1]);
    }
    return columns ? [low / 127, high / 127] : [0, 0];
  });
}
