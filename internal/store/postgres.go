package store

import (
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

// usePostgres configures s for PostgreSQL. The server ends idle transactions,
// which would block the change feed.
func (s *Store) usePostgres(o Options) error {
	s.dialect = postgresDialect()
	config, err := pgx.ParseConfig(o.DSN)
	if err != nil {
		return errors.New("the store's URL is invalid; use postgres://user:password@host:5432/database")
	}
	s.location = redacted(o.DSN)
	config.RuntimeParams["application_name"] = "mcp-tools"
	config.RuntimeParams["idle_in_transaction_session_timeout"] = "30000"
	config.ConnectTimeout = 10 * time.Second
	s.connect = func(ctx context.Context) error {
		s.write = stdlib.OpenDB(*config)
		s.write.SetMaxOpenConns(16)
		s.write.SetMaxIdleConns(8)
		s.write.SetConnMaxIdleTime(5 * time.Minute)
		s.read = s.write
		if err := s.write.PingContext(ctx); err != nil {
			return s.unavailable(err)
		}
		return nil
	}
	s.notifier = newNotifier(&pgListen{config: config, store: s}, s.log)
	return nil
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
