package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/automation"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/questions"
	"github.com/mcp-tools/mcp-tools/tools/teams"
)

// Rooms returns all rooms, in the order of the help. They are declared, and not open.
func (e *Env) Rooms() []*room.Room {
	return []*room.Room{
		approvals.Room(e.countPast),
		memory.Room(e.memoryOf),
		automation.Room(),
		questions.Room(),
		teams.Room(),
	}
}

// memoryOf returns the memory of a host, without an index.
func (e *Env) memoryOf(h *room.Host) (*memory.Memory, error) {
	loaded, err := e.Load()
	if err != nil {
		return nil, err
	}
	return memory.New(memory.Options{
		Rows:      MemoryRows(h.Store, loaded.Config),
		Documents: NewDocuments(h.Data, LocalTiers(), loaded.Config.Media, nil, nil),
	}), nil
}

// operatorVerbs returns the API of the verbs, nil without the setting for it.
func (a *App) operatorVerbs() *server.OperatorVerbs {
	if !a.loaded.Config.Server.OperatorAPI {
		return nil
	}
	api := room.API{
		Rooms: a.env.Rooms(), Host: &room.Host{Store: a.store, Data: a.data, Log: a.log}, Record: a.recordVerb,
		Scrub: a.scrub.Text,
	}
	with := func(serve func(http.ResponseWriter, *http.Request, room.Person)) server.IdentityHandler {
		return func(w http.ResponseWriter, r *http.Request, who server.Identity) {
			serve(w, r, room.Person{Name: who.ID, Channel: "http", Agent: who.Agent, User: who.User})
		}
	}
	return &server.OperatorVerbs{List: with(api.List), Call: with(api.Call)}
}

// recordVerb writes a verb that changes something to the audit log.
func (a *App) recordVerb(ctx context.Context, c room.Called) error {
	digest := sha256.Sum256(c.Args)
	record := audit.Record{
		Phase: audit.Intent, Kind: "operator", Tool: c.Verb, User: c.Who.Name, Transport: c.Who.Channel,
		Risk: c.Risk.String(), ArgsDigest: hex.EncodeToString(digest[:]),
		About: text.Clip(a.scrub.Text(string(c.Args)), maxAbout),
	}
	if c.Done {
		record.Phase, record.Outcome = audit.Done, "ok"
		if c.Err != nil {
			record.Outcome, record.Error = string(tool.AsError(c.Err).Kind), a.scrub.Text(c.Err.Error())
		}
	}
	return a.audit.Append(ctx, record)
}

// maxAbout is how much of the arguments of a verb the audit log has.
const maxAbout = 300
