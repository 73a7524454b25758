package server

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// This file has the questions about calls that were refused because their client cannot ask a person and no other
// person was there. The question stays open, and the refusal says how the user answers it. The next call that is equal
// in all that the question is about uses the answer.

// leftFor is how long such a question can be answered and its approval used.
const leftFor = 15 * time.Minute

// leftQuestions are the questions of refused calls that this process has left open. The store limits their number. The
// zero value is empty.
type leftQuestions struct {
	mu     sync.Mutex
	byCall map[leftKey]leftQuestion
}

// A leftKey is the call of a question, with the digest of the facts that were shown.
type leftKey struct {
	callKey
	basis string
}

type leftQuestion struct {
	id      string
	expires time.Time
}

func (l *leftQuestions) put(key leftKey, id string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for other, q := range l.byCall {
		if now.After(q.expires) {
			delete(l.byCall, other)
		}
	}
	if l.byCall == nil {
		l.byCall = make(map[leftKey]leftQuestion)
	}
	l.byCall[key] = leftQuestion{id, now.Add(leftFor)}
}

// get returns the id of the question about a call, "" for none.
func (l *leftQuestions) get(key leftKey) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byCall[key].id
}

// of returns the id of the question about a call, whatever facts were shown; "" for none.
func (l *leftQuestions) of(call callKey) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, q := range l.byCall {
		if key.callKey == call {
			return q.id
		}
	}
	return ""
}

func (l *leftQuestions) remove(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.byCall, func(_ leftKey, q leftQuestion) bool { return q.id == id })
}

// leftAnswer looks for the question of an equal call that was refused. If it was answered, answered is true and the
// question is used up. If it is still open, open is its id.
func (c *call) leftAnswer(ctx context.Context, p proposal, q approvals.Call) (d approvals.Decision, answered bool,
	open string) {
	id := p.edited.Question
	if id == "" {
		id = c.server.left.get(leftKey{p.sent, q.Basis})
	}
	if id == "" || c.Nested {
		return d, false, ""
	}
	left, err := c.server.Approvals.Get(ctx, id, approvals.Approver{})
	if err == nil && left.State == approvals.Open {
		return d, false, id
	}
	c.server.left.remove(id)
	defer c.server.edits.remove(id)
	if err != nil || left.State == approvals.Expired {
		return d, false, ""
	}
	d, err = c.server.Approvals.Take(ctx, id, q)
	if err != nil {
		c.server.log.Info("the answer to the question of a refused call does not count", "id", id, "err", err)
	}
	return d, err == nil, ""
}

// leaveOpen refuses a call that no person can be asked about now. Its question stays open, under an id that the model
// gives to the user. open is the id of the question that an equal call has left.
func (c *call) leaveOpen(ctx context.Context, p proposal, q approvals.Call, open string) error {
	if c.Nested || c.server.Approvals == nil || c.now.ApprovalWait != WaitAttended || c.atTerminal() ||
		len(q.Shown) > maxRead {
		return c.noApproverError(p)
	}
	if open == "" {
		var err error
		if open, err = c.storeQuestion(ctx, p, q, leftFor); err != nil {
			return c.noApproverError(p)
		}
		c.server.left.put(leftKey{p.sent, q.Basis}, open, time.Now())
	}
	return c.refusal(p, fmt.Sprintf("say to the user: \"%s\" Then call it again, unchanged", c.server.wayToAnswer(open, c.Transport)))
}

// wayToAnswer returns the sentence for the user about a question.
func (s *Server) wayToAnswer(id, transport string) string {
	if page := s.questionPage(id); page != "" {
		return fmt.Sprintf("Please decide on %s and then tell me to go on.", page)
	}
	return fmt.Sprintf("Please run %s in a terminal on the machine of the server and decide there, or run %s (or deny)%s. "+
		"Then tell me to go on.", s.command("`", "ui", transport), s.command("`", "approvals allow "+id, transport),
		s.sameData(transport))
}

// askUserToWatch returns advice for the model about a call that waited in vain.
func (s *Server) askUserToWatch(transport string) string {
	if page := s.questionPage(""); page != "" {
		return fmt.Sprintf("ask the user to open %s and to leave it open", page)
	}
	return fmt.Sprintf("ask the user to run %s or %s on the server's machine%s", s.command("`", "ui", transport),
		s.command("`", "approvals watch", transport), s.sameData(transport))
}

// command returns a command of this program that reaches the data of this server, between two marks. Clients on another
// machine do not get the paths in its flags.
func (s *Server) command(mark, command, transport string) string {
	if s.DataFlags != "" && transport == "stdio" {
		command += " " + s.DataFlags
	}
	return mark + "mcp-tools " + command + mark
}

// sameData returns the advice that takes the place of the flags for clients on another machine.
func (s *Server) sameData(transport string) string {
	if s.DataFlags == "" || transport == "stdio" {
		return ""
	}
	return ", with the same --data and --config as the server"
}

// questionPage returns the address of the page where a person answers a question, or, for "", of the page of all
// questions. Without a page it returns "".
func (s *Server) questionPage(id string) string {
	if s.Page == nil {
		return ""
	}
	return s.Page(id)
}

// refusal returns the error for a call that needs an approval when no person can be asked, with advice for the model.
func (c *call) refusal(p proposal, next string) error {
	return tool.Errorf(tool.Refused, "%s (%s) needs a person's approval, and this client cannot ask for it",
		p.tool.Spec.Name, p.why()).Try("%s", next)
}
