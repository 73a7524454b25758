// Package store keeps what lasts, in SQLite or in PostgreSQL.
//
// It knows rows and transactions, the order in which changes came about, who
// else must hear of them, and the two dialects of SQL. It does not know what a
// memory, a task or a job means to those who keep theirs here.
//
// There is one set of statements for both engines. They are written for
// PostgreSQL with $1 parameters, and with a few words in double braces where
// the engines differ: see dialect.go. Ids are text made by [NewID], times are
// milliseconds of the database's clock ({{now}}), JSON is text. Whatever is
// cached or indexed anywhere is told with [Tx.Changed] in the transaction that
// changes it; [Store.Changes] gives those rows back in an order that loses
// none, and [Store.Wait] wakes whoever follows a topic.
//
// Begin with [Open], then [Store.Update].
package store
