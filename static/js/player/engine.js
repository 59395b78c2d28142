/**
 * Audio engine: the page's one AudioContext and the mixer in its worklet; it lives as long as the page, tasks come and go.
 *   ready                      resolves once the worklet runs; rejects with an Error whose `code` says why it cannot
 *   command(name, parameters)  calls a method of the mixer (mixer.js); returns the command's sequence number
 *   attach(onReport)           the worklet's reports go here from now on
 *   wake()                     call it in a press of a key or button (autoplay policy); resolves with whether audio runs
 * Events: "interrupted" (the device took the audio away), "device" (headphones came or went), "broken".
 */
import { safeStorage } from "../page/storage.js";
import { RATE } from "./mixer.js";

const RESUME_TIMEOUT_MS = 1500;
const VOLUME_KEY = "concord:volume";

export function createEngine({ open = openContext, localStorage = globalThis.localStorage } = {}) {
  const storage = safeStorage(localStorage);
  const events = new EventTarget();
  let context = null;
  let node = null;
  let onReport = () => {};
  let sequence = 0;
  let volume = storedVolume(storage);
  let queued = []; // commands from before the worklet runs; null once it never will
  const emit = (type) => events.dispatchEvent(new Event(type));

  const ready = (async () => {
    context = open();
    if (!context.audioWorklet) throw errorWithCode("insecure");
    await context.audioWorklet.addModule(new URL("./player_worklet.js", import.meta.url));
    node = new AudioWorkletNode(context, "concord-player", { numberOfInputs: 0, outputChannelCount: [2] });
    node.port.onmessage = ({ data }) => onReport(data);
    node.onprocessorerror = () => emit("broken");
    node.connect(context.destination);
    for (const [message, transfer] of queued.splice(0)) node.port.postMessage(message, transfer);
    context.addEventListener("statechange", () => context.state !== "running" && emit("interrupted"));
    globalThis.navigator.mediaDevices?.addEventListener("devicechange", () => emit("device"));
  })();
  ready.catch(() => (queued = null)); // whoever plays gets the error

  return {
    ready,
    addEventListener: events.addEventListener.bind(events),
    removeEventListener: events.removeEventListener.bind(events),
    attach: (handler) => (onReport = handler),
    command(name, parameters = {}, transfer = []) {
      sequence += 1;
      const message = { command: name, sequence, ...parameters };
      if (node) node.port.postMessage(message, transfer);
      else queued?.push([message, transfer]);
      return sequence;
    },
    async wake() {
      if (!context) return false;
      if (context.state !== "running") {
        await Promise.race([context.resume().catch(() => {}), new Promise((resolve) => setTimeout(resolve, RESUME_TIMEOUT_MS))]);
      }
      return context.state === "running";
    },
    get running() {
      return context?.state === "running";
    },
    /** From 0 to 1, stored for the next page. */
    get volume() {
      return volume;
    },
    set volume(value) {
      volume = value;
      storage.setText(VOLUME_KEY, String(value));
    },
    /** Output latency in ms, as far as the browser knows: Bluetooth shows here. */
    get latencyMs() {
      return Math.round(1000 * (context?.outputLatency || context?.baseLatency || 0));
    },
  };
}

/** Decoder of one part: `decode(bytes)` gives one array per channel. Its own context needs no press of a key. */
export function createDecoder() {
  const decoder = new OfflineAudioContext(2, 1, RATE);
  return async (bytes) => {
    const buffer = await decoder.decodeAudioData(bytes);
    return Array.from({ length: buffer.numberOfChannels }, (_, channel) => buffer.getChannelData(channel));
  };
}

function openContext() {
  if (!globalThis.AudioContext) throw errorWithCode("unsupported");
  // On a phone, the switch that silences ringing would silence the clips too.
  if (globalThis.navigator.audioSession) globalThis.navigator.audioSession.type = "playback";
  return new AudioContext({ sampleRate: RATE, latencyHint: "interactive" });
}

function storedVolume(storage) {
  const value = Number.parseFloat(storage.getText(VOLUME_KEY));
  return value >= 0 && value <= 1 ? value : 1;
}

function errorWithCode(code) {
  return Object.assign(new Error(code), { code });
}
