// Package store is the database of the program: SQLite in a directory, or PostgreSQL.
//
// It has connections, transactions with retries, the change feed, rate limits, migrations,
// backup and restore. It knows no memories, tokens or audit records: the package that owns a
// noun owns its SQL too.
//
// # How a package keeps its rows
//
// The tables are made by the files in migrations, one ordered list for the whole
// program; add a file there and never change a published one. Backups and copies
// include every table. The files are not in the packages of their nouns: every process
// must know all steps to open a store, whatever it does there, and several steps change
// the tables of more than one noun. With one list a store opens with nothing else
// declared, and two branches that add the same step cannot be merged unseen.
// The package holds a *Store and writes statements like these:
//
//	type Rows struct{ store *store.Store }
//
//	func (r Rows) Rename(ctx context.Context, id, name string) error {
//		return r.store.Update(ctx, func(t *store.Tx) error {
//			n, err := t.Exec("UPDATE thing SET name = $1, at = {{now}} WHERE id = $2", name, id)
//			if err != nil || n == 0 {
//				return err
//			}
//			return t.Changed("thing", id)
//		})
//	}
//
//	func (r Rows) Names(ctx context.Context) ([]string, error) {
//		return store.Select(ctx, r.store, "SELECT name FROM thing ORDER BY name", nil, store.One[string])
//	}
//
// There is one set of statements for both engines. Parameters are $1, $2 and so on; words in
// double braces ({{now}}, {{lock}}, {{max}}) stand for SQL that differs between the engines,
// see dialect.go. Statements should be constants or come from a small set: they are prepared
// once and cached. Ids are text made by [NewID], times are milliseconds of the database's clock
// ({{now}}, [FromMillis], [Millis]), JSON is text.
//
// [Store.Update] may run its function several times: when transactions block each
// other, and when the function returns [ErrConflict]. The function must not have
// other effects, and must reset the variables that it sets.
//
// [Tx.Changed] writes to the change feed in the same transaction. Everything that
// is cached or indexed anywhere must call it. [Store.Wait] returns a channel that
// is closed when a topic may have changed, and [Feed.Follow] reads the changes
// since a cursor, in an order that loses none.
//
// Begin with [Open], then [Store.Update].
package store
