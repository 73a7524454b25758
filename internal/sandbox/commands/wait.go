package commands

import (
	"bytes"
	"context"
	"errors"
	"io"
	"regexp"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

const (
	maxScan  = 8 << 20  // maximum bytes of output to search; older ones are skipped
	maxLine  = 64 << 10 // maximum length of a line; longer ones are searched in pieces
	scanStep = 32 << 10
)

// Wait implements [sandbox.Process].
func (p *process) Wait(ctx context.Context, u sandbox.WaitCondition) sandbox.Status {
	var seek *lineMatcher
	if u.Pattern != "" {
		pattern, err := regexp.Compile(u.Pattern)
		if err != nil {
			s := p.Status()
			s.Why = join(s.Why, "the pattern is invalid: "+err.Error())
			return s
		}
		seek = newLineMatcher(pattern, p.stdout, u.From)
	}
	for {
		p.mu.Lock()
		change := p.changed()
		quiet := time.Since(p.quiet)
		p.mu.Unlock()
		ended := p.hasEnded() && (!u.All || p.isOver())
		if seek != nil {
			if line, found := seek.next(); found {
				s := p.Status()
				s.Matched = line
				return s
			}
		}
		if ended {
			return p.Status()
		}
		if u.Idle > 0 && quiet >= u.Idle {
			s := p.Status()
			s.WasIdle = s.State == sandbox.Running
			return s
		}
		if !pause(ctx, change, u.Idle, u.Idle-quiet) {
			return p.Status()
		}
	}
}

// pause waits for a change, or for the rest of the idle time if there is one. It
// returns false when ctx ends.
func pause(ctx context.Context, change <-chan struct{}, idle, rest time.Duration) bool {
	var late <-chan time.Time
	if idle > 0 {
		timer := time.NewTimer(rest)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-change:
	case <-late:
	case <-ctx.Done():
		return false
	}
	return true
}

func (p *process) hasEnded() bool {
	select {
	case <-p.end:
		return true
	default:
		return false
	}
}

// A lineMatcher searches a growing log for a line that matches a pattern.
type lineMatcher struct {
	pattern *regexp.Regexp
	log     *log
	at      int64  // offset of the next byte to read
	line    []byte // the incomplete last line
	step    []byte
}

func newLineMatcher(pattern *regexp.Regexp, l *log, from int64) *lineMatcher {
	return &lineMatcher{pattern: pattern, log: l, at: max(from, 0), step: make([]byte, scanStep)}
}

// next searches the bytes that were added since the last call.
func (s *lineMatcher) next() (line string, found bool) {
	if behind := s.log.Size() - maxScan; s.at < behind {
		s.at, s.line = behind, nil
	}
	for {
		n, err := s.log.ReadAt(s.step, s.at)
		s.at += int64(n)
		if line, found = s.feed(s.step[:n]); found {
			return line, true
		}
		if errors.Is(err, io.ErrNoProgress) {
			_, to := s.log.Gap()
			s.at, s.line = max(s.at, to), nil
			continue
		}
		if err != nil {
			return s.match(s.line)
		}
	}
}

// feed searches the lines that data completes.
func (s *lineMatcher) feed(data []byte) (string, bool) {
	for {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			break
		}
		s.line = append(s.line, data[:end]...)
		if line, found := s.match(s.line); found {
			return line, true
		}
		s.line, data = s.line[:0], data[end+1:]
	}
	s.line = append(s.line, data...)
	if len(s.line) <= maxLine {
		return "", false
	}
	line, found := s.match(s.line)
	s.line = append(s.line[:0], s.line[len(s.line)-maxLine/2:]...)
	return line, found
}

func (s *lineMatcher) match(line []byte) (string, bool) {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) == 0 || !s.pattern.Match(line) {
		return "", false
	}
	return string(line), true
}
