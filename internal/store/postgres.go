package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// usePostgres configures s for PostgreSQL. The server ends idle transactions: they would block
// the change feed.
func (s *Store) usePostgres(o Options) error {
	s.dialect = postgresDialect()
	config, err := pgx.ParseConfig(o.DSN)
	if err != nil {
		return errors.New("the store's URL is invalid; use postgres://user:password@host:5432/database")
	}
	s.location = redacted(o.DSN)
	config.RuntimeParams["application_name"] = "mcp-tools"
	config.ConnectTimeout = 10 * time.Second
	config.Tracer = &s.tracer
	listen := config
	if o.Direct != "" {
		if listen, err = pgx.ParseConfig(o.Direct); err != nil {
			return errors.New("the URL of the store's server is invalid; use postgres://user:password@host:5432/database")
		}
		listen.RuntimeParams["application_name"] = "mcp-tools"
		listen.ConnectTimeout, listen.Tracer = config.ConnectTimeout, config.Tracer
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	most := cmp.Or(o.Connections, defaultConnections)
	s.connect = func(ctx context.Context) error {
		s.write = stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(ctx context.Context, c *pgx.Conn) error {
			// Not a parameter of the start: PgBouncer refuses it there.
			_, err := c.Exec(ctx, "SET idle_in_transaction_session_timeout = 30000")
			return err
		}))
		s.write.SetMaxOpenConns(most)
		s.write.SetMaxIdleConns((most + 1) / 2)
		s.write.SetConnMaxIdleTime(time.Minute)
		s.read = s.write
		if err := s.patiently(ctx, func() error { return s.write.PingContext(ctx) }); err != nil {
			return s.unavailable(err)
		}
		return nil
	}
	s.notifier = newNotifier(&pgListen{config: listen, store: s, me: NewID()}, s.log)
	return nil
}

const (
	// defaultConnections is the default of Options.Connections.
	defaultConnections = 16
	// crowdedFor is how long a request waits for a connection that the server refuses because it has too many.
	crowdedFor = 15 * time.Second
	// tooManyConnections is PostgreSQL's code for that.
	tooManyConnections = "53300"
)

// patiently calls f again while the server has too many connections: meanwhile a connection of this process
// becomes free, or another process closes one. f needs a connection.
func (s *Store) patiently(ctx context.Context, f func() error) error {
	begun := time.Now()
	for attempt := 0; ; attempt++ {
		err := f()
		known, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || known.Code != tooManyConnections || time.Since(begun) > crowdedFor || backOff(ctx, attempt) != nil {
			return err
		}
	}
}

// dedupConnectError wraps the error of a failed connection in a connectError.
func dedupConnectError(err error) error {
	if refused, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return connectError{refused}
	}
	return err
}

// A connectError shortens the error of a failed connection: the driver repeats
// nearly the same message for each address.
type connectError struct{ err *pgconn.ConnectError }

func (r connectError) Error() string {
	var said []string
	for line := range strings.Lines(r.err.Error()) {
		_, why, _ := strings.Cut(strings.TrimSpace(line), ": ") // after the address
		if why != "" && !slices.Contains(said, why) {
			said = append(said, why)
		}
	}
	if len(said) == 0 {
		return r.err.Error()
	}
	return "no connection: " + strings.Join(said, "; ")
}

func (r connectError) Unwrap() error { return r.err }

// redacted returns a URL without user and password.
func redacted(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return "postgres"
	}
	return fmt.Sprintf("postgres://%s%s", u.Host, u.Path)
}
