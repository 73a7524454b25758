// Package audit is the record of calls: append-only, chained by hashes, and
// shared by every process that has the same data directory.
//
// It knows how a record becomes a line, how lines become a chain, and how to
// say where a chain was tampered with. It does not know what a call is, who
// may make one, or what must be scrubbed: what is handed to it is written.
// Begin with [Log.Append], then [Verify].
//
// # Files
//
// Each opened Log is a chain of its own, so processes never wait for one
// another. A chain is one or more segments, DIR/audit/CHAIN-NUMBER.jsonl. The
// first line of a segment is its header, the others are records. Every line
// names the hash of the line before it and ends with its own hash, an
// HMAC-SHA-256 under the key in DIR/audit.key. DIR/audit/heads.jsonl is shared
// and chained in the same way: a little after its first record, every minute
// and when it is closed, a Log writes there how far it has come.
//
// # What Verify detects
//
// Against someone who can write the files but cannot read the key:
//
//   - a changed, inserted, duplicated or moved line, in a segment or in heads;
//   - a missing line or segment that has a successor;
//   - a removed end of a chain, or a removed chain, up to its last line in
//     heads. What came after that line, at most a minute of a process that was
//     killed, can be cut off at the end of a line without a trace;
//   - segments that retention removed: those are expected, because heads says
//     so under the key.
//
// Not detected: the end of heads cut off together with the ends of the chains
// that it spoke of, which includes the whole directory put back to an earlier
// state or emptied; and anything done by someone who can read the key, which is
// everybody who can run code as this user. Whoever needs more copies
// heads.jsonl to another machine now and then: a line of the copy that is not
// in the file any more, and was not rewritten by retention, is the proof.
//
// # What survives
//
// When Append returns nil the record is with the operating system, and
// survives the death of the process. It survives a power cut once it is synced,
// [Options].SyncEvery later, or at once with [SyncFull]. What a crash leaves of
// a half-written line is a torn tail; it is told from tampering by where it
// is, at the very end of a chain's last segment.
package audit
