package server

import (
	"fmt"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// loops remembers the last calls of each session, to notice an agent that
// goes round in circles: the same calls with the same results, one after the
// other or in turns.
type loops struct {
	mu       sync.Mutex
	sessions map[string]*history
}

type history struct {
	last   []lap
	since  time.Time
	used   time.Time
	calls  int
	failed int
}

type lap struct {
	call, result digest
	at           time.Time
}

const (
	historyLength = 30
	historyAge    = 10 * time.Minute
	// maxCircle is the longest circle that counts as one: A, B, C, A, B, C.
	maxCircle    = 3
	maxHistories = 10_000
	// pollRoom is how much more often a tool made for asking again may be asked.
	pollRoom = 3
)

func newLoops() *loops { return &loops{sessions: make(map[string]*history)} }

// check refuses a call that changes something when it has just been made
// again and again to no other effect. Reading again does no harm: it runs,
// and advise answers.
func (l *loops) check(p *passage) error {
	if p.risk == tool.Reads {
		return nil
	}
	l.mu.Lock()
	h := l.sessions[p.Caller.Session]
	n := 0
	if h != nil {
		n = h.repeats(p.callSum, nil, p.start)
	}
	l.mu.Unlock()
	if n < p.patience(p.now.Limits.Stop) {
		return nil
	}
	p.looping = true
	return tool.Errorf(tool.Refused, "this call was made %d times with the same result, so it was not run again", n).
		Try("%s", loopAdvice)
}

const loopAdvice = "change the arguments, use another tool, or tell the user what is in the way"

// advise adds a word to a result that came back unchanged, and in the end
// replaces it: the model has it already, several times.
func (p *passage) advise(res tool.Result) tool.Result {
	if !p.known || p.looping || p.code != 0 { // what is no call of the model's is no lap
		return res
	}
	p.resultSum = sum(res.Text())
	n := p.server.loops.note(p.Caller.Session, lap{p.callSum, p.resultSum, p.start}, res.Failed)
	switch {
	case n >= p.patience(p.now.Limits.Stop) && !res.Failed:
		return tool.Textf("The same as the last %d times; not repeated here. To get on: %s.", n-1, loopAdvice)
	case n >= p.patience(p.now.Limits.Warn):
		return res.Add(tool.Part{Text: fmt.Sprintf("(This call has now had the same result %d times. To get on: %s.)", n, loopAdvice)})
	}
	return res
}

func (p *passage) patience(limit int) int {
	if p.tool.Spec.Repeats {
		return limit * pollRoom
	}
	return limit
}

// note remembers a call and counts how often it was made lately.
func (l *loops) note(session string, one lap, failed bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, ok := l.sessions[session]
	if !ok {
		l.makeRoom(one.at)
		h = &history{last: make([]lap, 0, historyLength), since: one.at}
		l.sessions[session] = h
	}
	if len(h.last) == historyLength {
		copy(h.last, h.last[1:])
		h.last = h.last[:historyLength-1]
	}
	h.last = append(h.last, one)
	h.used = one.at
	h.calls++
	if failed {
		h.failed++
	}
	return h.repeats(one.call, &one.result, one.at)
}

// repeats counts how often call came to the same result within the circle
// that the session is in. A nil result means: the result of its last time.
func (h *history) repeats(call digest, result *digest, now time.Time) int {
	circle := make([]digest, 0, maxCircle)
	count := 0
	for i := len(h.last) - 1; i >= 0; i-- {
		one := &h.last[i] // not a copy: result may point into it
		if now.Sub(one.at) > historyAge {
			break
		}
		if !contains(circle, one.call) {
			if len(circle) == maxCircle {
				break
			}
			circle = append(circle, one.call)
		}
		if one.call != call {
			continue
		}
		if result == nil {
			result = &one.result
		}
		if one.result != *result {
			break
		}
		count++
	}
	return count
}

func contains(circle []digest, d digest) bool {
	for _, one := range circle {
		if one == d {
			return true
		}
	}
	return false
}

func (l *loops) makeRoom(now time.Time) {
	if len(l.sessions) < maxHistories {
		return
	}
	for session, h := range l.sessions {
		if now.Sub(h.used) > historyAge {
			delete(l.sessions, session)
		}
	}
	for session := range l.sessions {
		if len(l.sessions) < maxHistories {
			return
		}
		delete(l.sessions, session)
	}
}
