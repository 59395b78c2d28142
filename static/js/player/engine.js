/**
 * The page's one AudioContext and the mixer in it; it lives as long as the page, tasks come and go.
 *   ready               resolves once orders are taken; rejects with an Error whose `code` says why sound cannot be had
 *   order(name, facts)  tells the mixer (see mixer.js); returns the order's ticket
 *   attach(onReport)    reports go here from now on
 *   wake()              to be called in a press of a key or button; resolves with whether sound can come out
 * Events: "interrupted" (the device took the sound away), "device" (headphones came or went), "broken".
 */
import { RATE } from "./mixer.js";

const PATIENCE_MS = 1500;
const VOLUME = "concord:volume";

export function createEngine({ open = openContext, storage = globalThis.localStorage } = {}) {
  const events = new EventTarget();
  let context = null;
  let node = null;
  let onReport = () => {};
  let ticket = 0;
  let volume = stored(storage);
  let early = []; // orders given before anybody could take them; null once nobody ever will
  const tell = (type) => events.dispatchEvent(new Event(type));

  const ready = (async () => {
    context = open();
    if (!context.audioWorklet) throw because("insecure");
    await context.audioWorklet.addModule(new URL("./player_worklet.js", import.meta.url));
    node = new AudioWorkletNode(context, "concord-player", { numberOfInputs: 0, outputChannelCount: [2] });
    node.port.onmessage = ({ data }) => onReport(data);
    node.onprocessorerror = () => tell("broken");
    node.connect(context.destination);
    for (const [message, transfer] of early.splice(0)) node.port.postMessage(message, transfer);
    context.addEventListener("statechange", () => context.state !== "running" && tell("interrupted"));
    globalThis.navigator.mediaDevices?.addEventListener("devicechange", () => tell("device"));
  })();
  ready.catch(() => (early = null)); // whoever needs it hears of it

  return {
    ready,
    addEventListener: events.addEventListener.bind(events),
    removeEventListener: events.removeEventListener.bind(events),
    attach: (handler) => (onReport = handler),
    order(name, facts = {}, transfer = []) {
      ticket += 1;
      const message = { order: name, ticket, ...facts };
      if (node) node.port.postMessage(message, transfer);
      else early?.push([message, transfer]);
      return ticket;
    },
    async wake() {
      if (!context) return false;
      if (context.state !== "running") {
        await Promise.race([context.resume().catch(() => {}), new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))]);
      }
      return context.state === "running";
    },
    get running() {
      return context?.state === "running";
    },
    /** From 0 to 1, kept for the next page: whoever has set a level should find it again. */
    get volume() {
      return volume;
    },
    set volume(value) {
      volume = value;
      try {
        storage.setItem(VOLUME, String(value));
      } catch {
        // it then holds for this page only
      }
    },
    /** Until a sample is heard, in ms, as far as the browser knows: Bluetooth shows here. */
    get latencyMs() {
      return Math.round(1000 * (context?.outputLatency || context?.baseLatency || 0));
    },
  };
}

/** Decode one part. Its own context, so that decoding needs no press of a key. */
export function createDecoder() {
  const decoder = new OfflineAudioContext(2, 1, RATE);
  return async (bytes) => {
    const buffer = await decoder.decodeAudioData(bytes);
    return Array.from({ length: buffer.numberOfChannels }, (_, channel) => buffer.getChannelData(channel));
  };
}

function openContext() {
  if (!globalThis.AudioContext) throw because("unsupported");
  // On a phone, the switch that silences ringing would silence the clips too.
  if (globalThis.navigator.audioSession) globalThis.navigator.audioSession.type = "playback";
  return new AudioContext({ sampleRate: RATE, latencyHint: "interactive" });
}

function stored(storage) {
  try {
    const value = Number.parseFloat(storage.getItem(VOLUME));
    return value >= 0 && value <= 1 ? value : 1;
  } catch {
    return 1;
  }
}

function because(code) {
  return Object.assign(new Error(code), { code });
}
