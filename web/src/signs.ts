/** What must be seen from across the room: a band above everything, and a sound for those who want one. */

import "./signs.css";
import type { ShownFeed } from "./feed";
import type { Model } from "./model";
import { duration } from "./numbers";
import type { Sign } from "./protocol";

/** Milliseconds between sounds, as long as there is an alarm. */
const pause = 10_000;

/** Notes that somebody has put away, which this browser keeps. */
const key = "evforge-notes-put-away";

export class Signs {
  private readonly band = document.createElement("div");
  private readonly text = document.createElement("span");
  private readonly putAway = document.createElement("button");
  private readonly button = document.createElement("button");
  private readonly away = new Set(kept());
  private audio: AudioContext | null = null;
  private soundedAt = -Infinity;
  private announced = "";
  private notes: string[] = [];

  constructor(private readonly model: Model) {
    this.band.id = "signs";
    this.band.hidden = true;
    this.putAway.type = "button";
    this.putAway.textContent = "Put away";
    this.putAway.title = "Do not show this note again in this browser";
    this.putAway.onclick = () => this.put();
    this.band.append(this.text, this.putAway);
    document.body.prepend(this.band);
    this.button.id = "sound";
    this.button.type = "button";
    this.button.textContent = "Sound off";
    this.button.title = "A sound every ten seconds as long as there is an alarm; off again when the page is loaded";
    this.button.setAttribute("aria-pressed", "false");
    this.button.onclick = () => this.switch();
    document.querySelector("header")!.append(this.button);
  }

  /** All signs: those of the server, and that there is none to hear of. */
  all(feed: ShownFeed): Sign[] {
    if (feed.name === "disconnected") {
      return [{ sign: "disconnected", level: "alarm", text: feed.text, sentence: feed.text }];
    }
    const aged = performance.now() - this.model.statusAt;
    return (this.model.status?.signs ?? []).map((sign) => {
      // Counted on, as the line at the top is.
      const packet = this.model.status?.feed.packet_ms;
      const isSilence = sign.sign === "no_data" && packet !== null && packet !== undefined;
      return isSilence ? { ...sign, text: `No data for ${duration(packet + aged, true)}` } : sign;
    });
  }

  update(feed: ShownFeed): void {
    const signs = this.all(feed).filter(({ sign, level }) => level !== "note" || !this.away.has(sign));
    const [first] = signs;
    const isAlarm = first?.level === "alarm";
    // A note is no larger for the alarm that it stands next to.
    const shown = signs.filter(({ level }) => level !== "note" || first?.level === "note");
    const text = shown.map(({ text }) => text).join(" · ");
    const title = shown.map(({ sentence }) => sentence).join("\n");
    this.notes = shown.filter(({ level }) => level === "note").map(({ sign }) => sign);
    this.band.hidden = signs.length === 0;
    this.putAway.hidden = this.notes.length === 0;
    this.band.dataset.tone = isAlarm ? "bad" : first?.level === "note" ? "note" : "wait";
    if (this.text.textContent !== text) this.text.textContent = text;
    if (this.text.title !== title) this.text.title = title;
    // Read aloud when there is another sign, and not whenever a number changes.
    const kinds = shown.map(({ sign }) => sign).join(" ");
    this.band.setAttribute("role", kinds === this.announced ? "group" : "alert");
    this.announced = kinds;
    if (isAlarm) this.sound();
    else this.soundedAt = -Infinity;
  }

  /** The notes that are shown are not shown again. */
  private put(): void {
    for (const note of this.notes) this.away.add(note);
    this.band.hidden = true;
    try {
      localStorage.setItem(key, [...this.away].join(" "));
    } catch {
      // Then they come back when the page is loaded again.
    }
  }

  private switch(): void {
    const isOn = this.audio === null;
    if (isOn) this.audio = new AudioContext();
    else void this.audio?.close();
    if (!isOn) this.audio = null;
    this.button.setAttribute("aria-pressed", String(isOn));
    this.button.textContent = isOn ? "Sound on" : "Sound off";
    this.soundedAt = -Infinity;
  }

  /** Two short tones, which no instrument has. */
  private sound(): void {
    const { audio } = this;
    if (!audio || performance.now() - this.soundedAt < pause) return;
    this.soundedAt = performance.now();
    for (const [place, frequency] of [880, 660].entries()) {
      const tone = new OscillatorNode(audio, { frequency });
      const loudness = new GainNode(audio, { gain: 0.15 });
      tone.connect(loudness).connect(audio.destination);
      tone.start(audio.currentTime + place * 0.25);
      tone.stop(audio.currentTime + place * 0.25 + 0.2);
    }
  }
}

/** The notes that were put away in this browser. */
function kept(): string[] {
  try {
    return (localStorage.getItem(key) ?? "").split(" ").filter((note) => note !== "");
  } catch {
    return [];
  }
}
