package custom

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
)

// An API lets operators manage the definitions in a store over HTTP. It does not know who they are: the server passes
// requests of operators alone.
type API struct {
	Rows Rows
	// Taken reports whether a name is that of a tool which is not in the store.
	Taken func(name string) bool
	// Added is called before a definition is added.
	Added func() error
	Log   *slog.Logger
}

// A Sheet is a definition as the API shows it.
type Sheet struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Kind        string `json:"kind"`
	Risk        string `json:"risk"`
	Agent       string `json:"agent,omitempty"`
	Disabled    bool   `json:"disabled"`
	Definition  string `json:"definition"` // YAML
}

func sheetOf(d Definition) (Sheet, error) {
	text, err := d.YAML()
	return Sheet{d.Name, d.Description, d.Kind(), d.Effect(), d.Agent, d.Disabled, text}, err
}

// Routes adds the paths of the API to a mux. wrap checks who asks.
func (a API) Routes(mux *http.ServeMux, wrap func(http.HandlerFunc) http.HandlerFunc) {
	for pattern, answer := range map[string]func(*http.Request) (any, error){
		"GET /custom": a.list, "GET /custom/{name}": a.get, "POST /custom": a.add, "POST /custom/test": a.test,
		"POST /custom/{name}/enable": a.enable, "POST /custom/{name}/disable": a.disable,
		"DELETE /custom/{name}": a.remove,
	} {
		mux.HandleFunc(pattern, wrap(func(w http.ResponseWriter, r *http.Request) {
			value, err := answer(r)
			a.respond(w, value, err)
		}))
	}
}

// errRequest is in the errors about a request that is wrong.
type errRequest struct{ error }

func (a API) respond(w http.ResponseWriter, value any, err error) {
	status, wrong := http.StatusOK, errRequest{}
	switch {
	case err == nil:
	case errors.Is(err, ErrUnknown):
		status, value = http.StatusNotFound, map[string]string{"error": ErrUnknown.Error()}
	case errors.As(err, &wrong):
		status, value = http.StatusBadRequest, map[string]string{"error": wrong.Error()}
	default:
		a.Log.Error("a request of an operator", "err", err)
		status, value = http.StatusServiceUnavailable, map[string]string{"error": "the store cannot be used now"}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the client has disconnected otherwise
}

func (a API) list(r *http.Request) (any, error) {
	all, err := a.Rows.List(r.Context())
	if all == nil && err != nil {
		return nil, err
	}
	sheets := []Sheet{}
	for _, d := range all {
		s, err := sheetOf(d)
		if err != nil {
			return nil, err
		}
		sheets = append(sheets, s)
	}
	return map[string]any{"tools": sheets}, nil
}

func (a API) get(r *http.Request) (any, error) {
	d, err := a.Rows.Get(r.Context(), r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	return sheetOf(d)
}

// read reads a definition in YAML or JSON.
func read(r *http.Request) (Definition, error) {
	text, err := io.ReadAll(io.LimitReader(r.Body, maxDefinition+1))
	if err != nil {
		return Definition{}, errRequest{err}
	}
	d, err := Parse(text)
	if err != nil {
		return d, errRequest{err}
	}
	return d, nil
}

func (a API) add(r *http.Request) (any, error) {
	d, err := read(r)
	if err != nil {
		return nil, err
	}
	if a.Taken(d.Name) {
		return nil, errRequest{fmt.Errorf("there is a tool %q already; choose another name", d.Name)}
	}
	if err := a.Added(); err != nil {
		return nil, err
	}
	return a.put(r, d)
}

func (a API) put(r *http.Request, d Definition) (any, error) {
	if err := a.Rows.Put(r.Context(), d); err != nil {
		return nil, err
	}
	a.Log.Info("an operator has changed a tool", "tool", d.Name, "disabled", d.Disabled)
	return sheetOf(d)
}

// test checks a definition. With arguments in the query it says what a call would do.
func (a API) test(r *http.Request) (any, error) {
	d, err := read(r)
	if err != nil {
		return nil, err
	}
	sheet, err := sheetOf(d)
	if err != nil {
		return nil, err
	}
	answer := map[string]any{"tool": sheet, "name_taken": a.Taken(d.Name)}
	if args := r.URL.Query().Get("arguments"); args != "" {
		does, err := Preview(d, json.RawMessage(args))
		if err != nil {
			return nil, errRequest{err}
		}
		answer["call"] = does
	}
	return answer, nil
}

func (a API) enable(r *http.Request) (any, error)  { return a.turn(r, false) }
func (a API) disable(r *http.Request) (any, error) { return a.turn(r, true) }

func (a API) turn(r *http.Request, disabled bool) (any, error) {
	d, err := a.Rows.Get(r.Context(), r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	d.Disabled = disabled
	return a.put(r, d)
}

func (a API) remove(r *http.Request) (any, error) {
	name := r.PathValue("name")
	if err := a.Rows.Remove(r.Context(), name); err != nil {
		return nil, err
	}
	a.Log.Info("an operator has removed a tool", "tool", name)
	return map[string]string{"removed": name}, nil
}
