package server

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/lru"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// loops remembers the last calls of each session, to notice an agent that makes
// the same calls again and again and gets the same results.
type loops struct {
	mu       sync.Mutex
	sessions *lru.Cache[string, *history]
}

// A history holds the last calls of a session, and counts all of them.
type history struct {
	last   []pastCall
	since  time.Time
	calls  int
	failed int
}

type pastCall struct {
	call, result digest
	at           time.Time
}

const (
	historyLength = 30
	historyAge    = 10 * time.Minute
	// maxCycle is the longest cycle of calls that counts as a repetition: A, B,
	// C, A, B, C.
	maxCycle = 3
	// pollFactor is how much more often a tool that is made for polling may be
	// called.
	pollFactor = 3
)

func newLoops() *loops {
	return &loops{sessions: lru.New[string](maxSessions, func(*history) int64 { return 1 })}
}

const loopAdvice = "change the arguments, use another tool, or tell the user what stops you"

// mayRepeat reports whether repeating a call is no loop: no model has chosen to make it, or it
// only waits.
func (c *call) mayRepeat(a attempt) bool { return c.Nested || c.Scheduled || a.tool.Spec.Waits }

// checkRepeats refuses a call of a reading tool that was made many times in a
// row with equal results and without any other call in between. Other calls are
// never refused for this: they may have changed something, or print something
// else this time.
func (c *call) checkRepeats(a attempt) error {
	limit := repeatLimit(c.now.Limits.RepeatStop, a.tool)
	if limit == 0 || a.tool.Spec.Risk != tool.Reads || c.mayRepeat(a) {
		return nil
	}
	n := c.server.loops.inARow(c.Caller.Session, a.args, c.start)
	if n < limit-1 {
		return nil
	}
	c.server.Observer.Limited("repeat_refused")
	return tool.Errorf(tool.Refused, "this call was made %d times in a row with the same result; it was not run again",
		n).
		Try("%s", loopAdvice)
}

// addToHistory adds a call to the history of its session. It returns a digest of the
// result, and how many equal results this call had in a row if they are enough
// for advice, else 0.
func (c *call) addToHistory(a attempt, res tool.Result) (result digest, repeats int) {
	result = sum(res.Text())
	if c.mayRepeat(a) {
		c.server.loops.count(c.Caller.Session, c.start, res.Failed)
		return result, 0
	}
	n := c.server.loops.add(c.Caller.Session, pastCall{a.args, result, c.start}, res.Failed)
	if limit := repeatLimit(c.now.Limits.RepeatWarn, a.tool); limit == 0 || n < limit {
		return result, 0
	}
	c.server.Observer.Limited("repeat_advised")
	return result, n
}

// advise adds advice to the result of a call that was repeated.
func advise(res tool.Result, repeats int) tool.Result {
	if repeats == 0 {
		return res
	}
	advice := fmt.Sprintf("(This call has now had the same result %d times. To get on: %s.)", repeats, loopAdvice)
	return res.Add(tool.Part{Text: advice, For: tool.ForModel})
}

// repeatLimit returns the limit for a tool, or 0 for no limit.
func repeatLimit(limit int, t tool.Tool) int {
	if t.Spec.Repeats {
		return limit * pollFactor
	}
	return limit
}

// inARow counts the last calls of a session, as long as all of them are call
// and had the same result.
func (l *loops) inARow(session string, call digest, now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, ok := l.sessions.Get(session)
	if !ok {
		return 0
	}
	n := 0
	for _, one := range slices.Backward(h.last) {
		last := h.last[len(h.last)-1]
		if one.call != call || one.result != last.result || now.Sub(one.at) > historyAge {
			break
		}
		n++
	}
	return n
}

// add adds a call and counts how often it had this result in a row.
func (l *loops) add(session string, one pastCall, failed bool) int {
	h := l.count(session, one.at, failed)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(h.last) == historyLength {
		copy(h.last, h.last[1:])
		h.last = h.last[:historyLength-1]
	}
	h.last = append(h.last, one)
	return h.repeats(one)
}

// count counts a call and returns the history of its session.
func (l *loops) count(session string, at time.Time, failed bool) *history {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, ok := l.sessions.Get(session)
	if !ok {
		h = &history{last: make([]pastCall, 0, historyLength), since: at}
		l.sessions.Put(session, h)
	}
	h.calls++
	if failed {
		h.failed++
	}
	return h
}

// repeats counts how often in a row one had the same result, within the cycle
// of calls that the session is in.
func (h *history) repeats(one pastCall) int {
	cycle := make([]digest, 0, maxCycle)
	count := 0
	for _, past := range slices.Backward(h.last) {
		if one.at.Sub(past.at) > historyAge {
			break
		}
		if !slices.Contains(cycle, past.call) {
			if len(cycle) == maxCycle {
				break
			}
			cycle = append(cycle, past.call)
		}
		if past.call != one.call {
			continue
		}
		if past.result != one.result {
			break
		}
		count++
	}
	return count
}
