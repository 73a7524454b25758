// Package audit is the record of calls: append-only, chained by hashes, and
// shared by every process that has the same store.
//
// It knows how a record becomes a line, how lines become a chain, how they get
// to the store, and how to say where a chain was tampered with. It does not know
// what a call is, who may make one, what must be scrubbed, or how rows are kept:
// what is handed to it is written. Begin with [Log.Append], then the carrier
// (carrier.go, cargo.go) and [Verify].
//
// # On the way to the store
//
// A record is acknowledged when its line, sealed and in its chain, is in the
// journal: a file of the process in DIR/audit, whose lock it has for as long as
// it lives. Moments later a goroutine carries what has gathered to the store, in
// transactions of many records. So a call waits for one write to a file, and
// goes on when the store is away: until 32 MB to 64 MB wait, when records are
// refused. Of a store that is there, but slower than the calls, 16 MB may wait
// until they are slowed down. A journal of which all is in the store is removed when its process
// ends, and begins anew without what is there when it has grown.
//
// The lock of a journal can be had when its process is dead. Whoever comes next,
// a server or somebody who reads the record, checks its lines as Verify does,
// carries those that the store lacks, ends the chain in the heads, and removes
// the file. What does not verify, is sealed with a key that is not here, or
// follows what the store does not have, stays there, and Verify names it. One
// that is behind the store, as copies of a directory are, is removed. A last
// line without an end was never acknowledged.
//
// When it is not known how a transaction ended, the chain's row tells: it is as
// it was, or as it would be after some of the records that are on their way.
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
//     came after that head, at most a minute of a process that runs or whose
//     journal was lost, can be cut off without a trace by someone who changes the
//     chain's row too;
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
// When Append returns nil the record is in a file, and survives the death of the
// process. A power cut may take the last ones, of the journal as of a store that
// does not wait for the disk, unless Full says that both wait. It may leave a
// journal that begins behind the end of its chain, when it was written anew in
// the last half minute; that is reported as what it looks like, missing records.
//
// A chain whose process was killed has no end until its journal is found, which
// is no sign of tampering; a report says how many there are. A journal that is
// lost with its disk takes with it what was not carried yet. A process that finds
// its chain other than it left it refuses records until it is as it was, or until
// it is started again: it finds that out when it carries the next one, which was
// acknowledged then, and is reported as having no place. A chain that retention
// has removed although its journal was still to come, because nobody was seen
// adding to it for days, is begun again where it was cut off.
package audit
