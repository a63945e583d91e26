/** What comes in, as the page says it: the server's state, or that nobody can know it. */

import type { Connection } from "./connection";
import type { Model } from "./model";
import { duration } from "./numbers";
import type { Feed } from "./protocol";

/** Without an update for this long, in milliseconds, the page has no connection, whatever the socket says. */
const silence = 3000;

export type FeedName = Feed["state"] | "disconnected" | "connecting";

export interface ShownFeed {
  name: FeedName;
  /** In a few words. */
  text: string;
  /** More about it; empty where nothing is to be said. */
  reason: string;
  tone: "good" | "wait" | "bad" | "";
  /** True if what the page shows is not what happens now, and must not look as if it were. */
  old: boolean;
}

const tones: Record<Feed["state"], ShownFeed["tone"]> = {
  waiting: "wait",
  live: "good",
  stalled: "bad",
  rejecting: "bad",
  ended: "",
};

export function feedOf(model: Model, connection: Connection): ShownFeed {
  const { status } = model;
  const quiet = status ? performance.now() - model.statusAt : 0;
  const isGone = connection.phase === "reconnecting" || quiet > silence;
  if (status?.feed.state === "ended") {
    const reason = [status.feed.reason ?? "", isGone ? "evforge has ended, too: these are the last counts" : ""];
    return {
      name: "ended",
      text: status.feed.text,
      reason: reason.filter((part) => part !== "").join("; "),
      tone: status.feed.failed ? "bad" : "",
      old: false,
    };
  }
  if (isGone) {
    const since = status ? ` for ${duration(quiet, true)}` : "";
    return { name: "disconnected", text: `No connection to evforge${since}`, reason: next(connection), tone: "bad", old: true };
  }
  if (!status) return { name: "connecting", text: "Connecting", reason: "", tone: "wait", old: false };
  const { state, text, reason } = status.feed;
  return { name: state, text, reason: reason ?? "", tone: tones[state], old: state === "stalled" || state === "rejecting" };
}

/** What the page does about it. */
function next(connection: Connection): string {
  if (connection.phase !== "reconnecting") return "it does not answer";
  const wait = Math.max(0, connection.retryAt - performance.now());
  return wait > 900 ? `next attempt in ${duration(wait, true)}` : "connecting again";
}
