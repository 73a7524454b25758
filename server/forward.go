package server

import (
	"encoding/json"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// forwarded returns the request that req stands for: if it calls a tool that forwards,
// the call of the other tool. A call that cannot be forwarded stays as it is, and the
// tool returns the reason.
func (s *Server) forwarded(req Request) Request {
	now := s.settings()
	via, ok := now.tools.Lookup(req.Tool)
	if !ok || !via.Spec.Forwards || now.verdict(req.Access, via.Spec.Name) == policy.Deny {
		return req
	}
	limits := now.Limits.Args
	limits.Depth++ // the arguments of the other tool are one level deeper
	bound, err := via.Bind(req.Args, limits)
	if err != nil {
		return req
	}
	var inner struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(bound.JSON(), &inner) != nil {
		return req
	}
	t, ok := now.tools.Lookup(inner.Name)
	if !ok || t.Spec.Forwards || now.verdict(req.Access, t.Spec.Name) == policy.Deny {
		return req
	}
	req.Tool, req.Args, req.forwarded = inner.Name, inner.Arguments, true
	return req
}

// explain adds the declaration of a tool to an error about its arguments, if the caller
// has not seen it in tools/list.
func (c *call) explain(t tool.Tool, err error) error {
	known := tool.AsError(err)
	if !c.forwarded && !c.Nested || known.Kind != tool.Invalid {
		return err
	}
	with := *known
	if with.Next != "" {
		with.Next += "; "
	}
	with.Next += "its declaration is\n" + t.Signature()
	return &with
}
