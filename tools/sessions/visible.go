package sessions

import (
	"context"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A Visibility names the sessions that a session may see and write to.
type Visibility string

// The levels. An unknown one is Self.
const (
	Self  Visibility = "self"  // only itself
	Tree  Visibility = "tree"  // its parent, its children, and so on
	Agent Visibility = "agent" // all of the same agent and user
	All   Visibility = "all"   // all of all agents and users
)

// levelFor returns the visibility for a caller. A subagent sees at most its tree, and so does a
// caller without agent and user. A caller without an agent never sees the sessions of other agents.
func levelFor(set Visibility, c tool.Caller) Visibility {
	switch {
	case set != Tree && set != Agent && set != All:
		return Self
	case c.Depth > 0, c.Agent == "" && c.User == "":
		return Tree
	case set == All && c.Agent == "":
		return Agent
	}
	return set
}

// visible returns the condition for rows that a caller may see. Its parameters are $1
// to $4.
func (s *Sessions) visible(c tool.Caller) (where string, args []any, level Visibility) {
	level = levelFor(s.Visibility(), c)
	args = []any{c.Key(), c.Agent, c.User, c.Parent}
	own := "(key = $1 AND agent = $2 AND usr = $3 AND $4 = $4)"
	switch level {
	case All:
		return "(" + own + " OR TRUE)", args, level
	case Agent:
		return "(" + own + " OR agent = $2 AND usr = $3)", args, level
	case Tree:
		return "(" + own + ` OR usr = $3 AND key <> $1 AND (key = $4 AND key <> '' OR parent IN (
			WITH RECURSIVE tree (key) AS (
				SELECT CAST($1 AS TEXT) UNION
				SELECT child.key FROM session child JOIN tree ON child.parent = tree.key WHERE child.usr = $3)
			SELECT key FROM tree)))`, args, level
	}
	return own, args, Self
}

// own returns the session of a caller, and makes sure that it has a row.
func (s *Sessions) own(ctx context.Context, c tool.Caller) (Session, error) {
	if c.Key() == "" {
		return Session{}, tool.Errorf(tool.Unavailable, "this call belongs to no session")
	}
	s.Used(c, tool.Use{})
	if err := s.save(ctx); err != nil {
		return Session{}, err
	}
	row, ok, err := s.Row(ctx, inbox.ToCaller(c))
	if err == nil && !ok { // the command line has none
		row = Session{To: inbox.ToCaller(c), Name: c.Session, Channel: c.Channel, Open: true}
	}
	return row, err
}

// find returns the session that a caller means by a key or a label; "" is its own.
func (s *Sessions) find(ctx context.Context, c tool.Caller, name string) (Session, error) {
	own, err := s.own(ctx, c)
	if err != nil || name == "" || name == own.Session {
		return own, err
	}
	where, args, _ := s.visible(c)
	args = append(args, name)
	list, err := s.where(ctx, where+` AND (key = $5 OR label = $5)
		ORDER BY CASE WHEN key = $5 THEN 0 ELSE 1 END, ended = 0 DESC, updated DESC LIMIT 5`, args...)
	if err != nil {
		return Session{}, err
	}
	if len(list) == 0 {
		return Session{}, tool.Errorf(tool.NotFound, "there is no session %q that you may see", text.Clip(name, 200)).
			Try("call sessions_list to see the keys and labels")
	}
	if rivals := sameRank(list, name); len(rivals) > 1 {
		return Session{}, tool.Errorf(tool.Invalid, "%d sessions are labelled %q: %s", len(rivals),
			text.Clip(name, 200),
			strings.Join(rivals, ", ")).Try("send the key of one of them")
	}
	return list[0], nil
}

// sameRank returns the keys of the sessions that a name could mean as well as the first
// of a list.
func sameRank(list []Session, name string) (keys []string) {
	for _, one := range list {
		if (one.Session == name) == (list[0].Session == name) && one.Open == list[0].Open {
			keys = append(keys, one.Session)
		}
	}
	if !list[0].Open { // the latest of the ended ones counts
		return keys[:1]
	}
	return keys
}
