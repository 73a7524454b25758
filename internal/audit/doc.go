// Package audit is the audit log of calls: append-only, chained by hashes, and
// shared by all processes that use the same store.
//
// It encodes records as lines, links the lines to chains, copies them to the store, and reports
// where a chain was tampered with. It knows neither the meaning and the rights of calls, nor
// the secrets in them. Begin with [Log.Append], then the uploader (upload.go) and [DB.Verify].
//
// # From a record to the store
//
// A record is acknowledged when its line is in the journal: a file in DIR/audit that belongs to
// one process. The process holds its lock. Moments later a goroutine uploads the new records to
// the store, many in one transaction. So a call waits for one write to a file, and it succeeds
// while the store is not available, until 32 to 64 MB wait; then records are refused. If the
// store is available but slower than the calls, calls are slowed down from 16 MB on. A journal
// is removed when its process ends and the store has all of it. A large one is replaced by a
// new one without the records that the store has.
//
// The lock of a journal is free when its process is dead. The next process, a
// server or a command that reads the log, checks the lines of such a journal as
// Verify does, uploads the records that the store does not have, ends the chain,
// and removes the file. Lines stay there, and Verify reports them, if they do not
// verify, are sealed with another key, or follow a record that the store does not
// have. A journal that is behind the store, for example one in a copy of the
// directory, is removed. A last line without a line break was never acknowledged.
//
// The upload is no job of package jobs, because no other process can take it: the
// lock of the journal belongs to its process. It waits in the loop of the store,
// Store.Work, for new records, for the next head and for the next search for
// journals of dead processes. The retention is a job, one for each key.
//
// If the result of a transaction is unknown, the row of the chain shows it.
//
// # Rows
//
// In PostgreSQL the records are in a table for each day. Retention removes the whole table when
// all chains in it verify: see days.go.
//
// Each Log that writes is a separate chain, so processes never wait for each
// other's hashes. A chain has one row, with a line that names the process and the
// time, and one row for each record. Each line contains a plain hash of the line
// before it, and ends with an HMAC-SHA-256 under the key in DIR/audit.key.
// Columns repeat fields of the line and must be equal to them. Heads are lines
// too, one chain of them for each key: a Log adds a head when its chain begins,
// every minute, and when it is closed, and states there how far the chain is.
//
// # What Verify detects
//
// Against an attacker with write access to the store, but without the key:
//
//   - a changed, inserted, duplicated or moved row, in a chain or in heads;
//   - a missing record that has a successor;
//   - a missing chain, and missing records at the end of one, up to its last
//     head. Records after that head (at most one minute of a running process, or
//     of one with a lost journal) can be removed without a trace by someone who
//     changes the row of the chain too;
//   - records that retention removed are expected to be missing, because heads
//     that are sealed with the key list them.
//
// The last head that a process on this machine wrote stands in DIR/audit.head, so
// heads that are removed from the end are missed too, and so is a store that was
// emptied or set back to an earlier state. Another machine with the same key does
// not miss them.
//
// Not detected: changes by an attacker with the key. Code that runs as this user can read it.
//
// Machines that share a store and the key of the vault share a key: the first
// record of a machine without one takes it from the store. Then each can check
// everything. Otherwise a machine checks only the links of chains with other keys, and the
// report counts them. Each key has its own retention; a chain of another key is
// pruned only if nothing was added to it for a month.
//
// # What survives
//
// When Append returns nil the record is in a file and survives the death of the
// process. A power cut may lose the last records, in the journal and in a store
// that does not wait for the disk, unless Full is set. It may also leave a
// journal that begins after the end of its chain, if the journal was replaced in
// the last half minute; that is reported as missing records.
//
// The chain of a killed process has no end until its journal is recovered; that
// is not a sign of tampering, and a report counts such chains. If a journal is
// lost, its records that were not uploaded are lost. A process that finds its
// chain changed in the store refuses records until the chain is as it was, or
// until a restart. It notices with the next upload; the records acknowledged
// before that are reported as missing their predecessor. If retention removed a
// chain because nothing was added for days, and its journal is recovered later,
// the chain continues where it was cut off.
package audit
