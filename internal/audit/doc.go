// Package audit is the record of calls: append-only, chained by hashes, and
// shared by every process that has the same store.
//
// It knows how a record becomes a line, how lines become a chain, and how to
// say where a chain was tampered with. It does not know what a call is, who
// may make one, what must be scrubbed, or how rows are kept: what is handed to
// it is written. Begin with [Log.Append], then [Verify].
//
// # Rows
//
// Each opened Log is a chain of its own, so processes never wait for one
// another's hashes. A chain has a row, whose line says who began it and when,
// and a row for each record. Every line names the link of the line before it, a
// plain hash, and ends with its own hash, an HMAC-SHA-256 under the key in
// DIR/audit.key. Columns repeat what rows are found by; they have to say what
// the line says. Heads are chained in the same way, those of each key by
// themselves: when a chain begins, every minute, and when it is closed, a Log
// writes there how far it has come.
//
// # What Verify detects
//
// Against someone who can write to the store but cannot read the key:
//
//   - a changed, inserted, duplicated or moved row, in a chain or in heads;
//   - a missing record that has a successor;
//   - a removed end of a chain, up to its last head, and a removed chain. What
//     came after that head, at most a minute of a process that was killed, can
//     be cut off without a trace by someone who changes the chain's row too;
//   - records that retention removed: those are expected, because heads say so
//     under the key.
//
// Not detected: the last heads removed together with the ends of the chains
// that they spoke of, which includes a store put back to an earlier state or
// emptied; and anything done by someone who can read the key, which is
// everybody who can run code as this user.
//
// Machines that share a store may share a key, and then each of them sees all of
// that. If not, a machine checks of the others' chains the links, and that they
// are still what they were when it wrote its own heads last, where it notes how
// far the others' had come. A report names the chains of which that is all.
// Retention is each key's own business, except for chains that nobody has added
// to for a month: what is too old in them is removed by whoever is there.
//
// # What survives
//
// When Append returns nil the record is committed, and survives the death of
// the process. Whether it survives a power cut too is up to the store. A chain
// whose process was killed has no end, which is no sign of tampering; a report
// says how many there are. A process that finds its chain other than it left it
// refuses records until it is as it was, or until it is started again.
package audit
