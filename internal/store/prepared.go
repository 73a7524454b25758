package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
)

// A connector opens connections of SQLite that cache prepared statements.
// Parsing a long statement takes SQLite longer than running it.
type connector struct {
	driver.Connector
	tracer *tracer
}

// Connect opens a connection.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	able, ok := opened.(sqliteConn)
	if !ok {
		return nil, errors.Join(errors.New("the SQLite driver lacks a needed interface"), opened.Close())
	}
	return &cachingConn{sqliteConn: able, tracer: c.tracer, statements: map[string]*statement{}}, nil
}

// A sqliteConn is a connection of the driver.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// A cachingConn is a connection that caches prepared statements. It is used by
// one goroutine at a time.
type cachingConn struct {
	sqliteConn
	tracer     *tracer
	statements map[string]*statement
}

// maxStatements is the size of the cache of a connection.
const maxStatements = 150

// A statement is a prepared statement. It is busy while its rows are read, and
// cannot run again then.
type statement struct {
	driver.Stmt
	exec  driver.StmtExecContext
	query driver.StmtQueryContext
	busy  bool
}

// statement returns a prepared statement, or nil if the text must be run without
// one.
func (c *cachingConn) statement(ctx context.Context, text string) (*statement, error) {
	if s := c.statements[text]; s != nil {
		if s.busy {
			return nil, nil
		}
		return s, nil
	}
	if !cacheable(text) {
		return nil, nil
	}
	made, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	run, runs := made.(driver.StmtExecContext)
	ask, asks := made.(driver.StmtQueryContext)
	if !runs || !asks {
		return nil, made.Close()
	}
	if err := c.evict(); err != nil {
		return nil, errors.Join(err, made.Close())
	}
	s := &statement{Stmt: made, exec: run, query: ask}
	c.statements[text] = s
	return s, nil
}

// cacheable reports whether a statement is likely to be repeated.
func cacheable(text string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch word {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH":
		return true
	}
	return false
}

// evict closes some statement if the cache is full. Programs have few statements,
// so that this is rare.
func (c *cachingConn) evict() error {
	if len(c.statements) < maxStatements {
		return nil
	}
	for text, s := range c.statements {
		if !s.busy {
			delete(c.statements, text)
			return s.Close()
		}
	}
	return nil
}

// ExecContext runs a statement.
func (c *cachingConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	c.tracer.saw(text)
	s, err := c.statement(ctx, text)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.sqliteConn.ExecContext(ctx, text, args)
	}
	return s.exec.ExecContext(ctx, args)
}

// QueryContext runs a query.
func (c *cachingConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	c.tracer.saw(text)
	s, err := c.statement(ctx, text)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.sqliteConn.QueryContext(ctx, text, args)
	}
	rows, err := s.query.QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	s.busy = true
	return &statementRows{rows, s}, nil
}

// BeginTx begins a transaction.
func (c *cachingConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	c.tracer.saw("BEGIN")
	return c.sqliteConn.BeginTx(ctx, o)
}

// Close closes the connection and its statements.
func (c *cachingConn) Close() error {
	var errs []error
	for _, s := range c.statements {
		errs = append(errs, s.Close())
	}
	clear(c.statements)
	return errors.Join(append(errs, c.sqliteConn.Close())...)
}

// statementRows are the rows of a statement that is busy until they are closed.
type statementRows struct {
	driver.Rows
	of *statement
}

// Close releases the statement.
func (r *statementRows) Close() error {
	r.of.busy = false
	return r.Rows.Close()
}
