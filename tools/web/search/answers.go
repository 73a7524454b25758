package search

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

// An answerEngine is a language model that searches the web, and responds with an answer
// and its sources. It takes no filters.
type answerEngine struct {
	url               string
	header, keyFormat string
	body              map[string]any // with {query} in its strings
	// decode reads a response with status 200. Its errors go to the log only.
	decode func(body []byte) (engineReply, error)
}

// ask is a conversation that begins with the query.
func ask() []any { return []any{map[string]any{"role": "user", "content": "{query}"}} }

func gemini() answerEngine {
	return answerEngine{
		url:    "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent",
		header: "X-Goog-Api-Key", keyFormat: "{key}",
		body: map[string]any{
			"contents": []any{map[string]any{"parts": []any{map[string]any{"text": "{query}"}}}},
			"tools":    []any{map[string]any{"google_search": map[string]any{}}},
		},
		decode: decodeGemini,
	}
}

func grok() answerEngine {
	return answerEngine{
		url: "https://api.x.ai/v1/responses", header: "Authorization", keyFormat: "Bearer {key}",
		body: map[string]any{
			"model": "grok-4-1-fast", "input": ask(), "tools": []any{map[string]any{"type": "web_search"}},
		},
		decode: decodeGrok,
	}
}

func kimi() answerEngine {
	search := map[string]any{"type": "builtin_function", "function": map[string]any{"name": "$web_search"}}
	return answerEngine{
		url: "https://api.moonshot.ai/v1/chat/completions", header: "Authorization", keyFormat: "Bearer {key}",
		body: map[string]any{
			"model": "kimi-k2.6", "messages": ask(), "tools": []any{search},
			"thinking": map[string]any{"type": "disabled"}, // the search does not work with it
		},
		decode: decodeKimi,
	}
}

func (e answerEngine) address() (page, header, format string) { return e.url, e.header, e.keyFormat }

func (e answerEngine) request(q Query) (r outbound.Request, ignored []string, err error) {
	for name, value := range map[string]string{"freshness": q.Freshness, "country": q.Country, "language": q.Language} {
		if value != "" {
			ignored = append(ignored, name)
		}
	}
	slices.Sort(ignored)
	filled, _ := fillBody(e.body, map[string]string{"query": q.Text})
	body, err := json.Marshal(filled)
	return outbound.Request{
		Method: http.MethodPost, URL: e.url, Body: body, Header: http.Header{"Content-Type": {"application/json"}},
	}, ignored, err
}

func (e answerEngine) read(r rawResponse) (engineReply, *failure) {
	if r.status != http.StatusOK {
		return engineReply{}, statusFailure(r.status, r.header, r.hasKey)
	}
	found, err := e.decode(r.body)
	if err != nil {
		f := unreadable("it is not valid JSON")
		f.cause = err
		return engineReply{}, f
	}
	if len(found.toolResults) > 0 {
		if found.next, err = continued(r.sent, found); err != nil {
			f := unreadable("its request for a search cannot be answered")
			f.cause = err
			return engineReply{}, f
		}
	} else if strings.TrimSpace(found.answer) == "" {
		return engineReply{}, unreadable("it has no answer")
	}
	return found, nil
}

func decodeGemini(body []byte) (found engineReply, err error) {
	var response struct {
		Candidates []struct {
			Content struct {
				Parts []struct{ Text string }
			}
			GroundingMetadata struct {
				GroundingChunks []struct {
					Web struct{ URI, Title string }
				}
			}
		}
	}
	err = json.Unmarshal(body, &response)
	for _, c := range response.Candidates[:min(len(response.Candidates), 1)] {
		for _, part := range c.Content.Parts {
			found.answer += part.Text
		}
		for _, chunk := range c.GroundingMetadata.GroundingChunks {
			found.results = append(found.results, Result{Title: chunk.Web.Title, URL: chunk.Web.URI})
		}
	}
	return found, err
}

func decodeGrok(body []byte) (found engineReply, err error) {
	var response struct {
		Output []struct {
			Type    string
			Content []struct {
				Text        string
				Annotations []struct{ Type, URL, Title string }
			}
		}
		Citations []string
	}
	err = json.Unmarshal(body, &response)
	for _, output := range response.Output {
		for _, content := range output.Content {
			if output.Type == "message" {
				found.answer += content.Text
			}
			for _, a := range content.Annotations {
				if a.Type == "url_citation" {
					found.results = append(found.results, Result{Title: a.Title, URL: a.URL})
				}
			}
		}
	}
	for _, url := range response.Citations {
		found.results = append(found.results, Result{URL: url})
	}
	return found, err
}

// decodeKimi reads an answer, or the request to search. The arguments of the request are sent
// back as the result of the search: the search takes place at the engine.
func decodeKimi(body []byte) (found engineReply, err error) {
	var response struct {
		Choices []struct{ Message json.RawMessage }
		Results []struct{ Title, URL, Content string } `json:"search_results"`
	}
	if err = json.Unmarshal(body, &response); err != nil || len(response.Choices) == 0 {
		return found, err
	}
	var message struct {
		Content   string
		ToolCalls []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	found.message = response.Choices[0].Message
	if err = json.Unmarshal(found.message, &message); err != nil {
		return found, err
	}
	found.answer = message.Content
	for _, call := range message.ToolCalls {
		found.toolResults = append(found.toolResults, map[string]any{
			"role": "tool", "tool_call_id": call.ID, "name": call.Function.Name, "content": call.Function.Arguments,
		})
	}
	for _, one := range response.Results {
		found.results = append(found.results, Result{Title: one.Title, URL: one.URL, Snippet: one.Content})
	}
	return found, nil
}

// continued returns the body of the request that continues a conversation with the results
// of tools.
func continued(sent []byte, found engineReply) ([]byte, error) {
	var body map[string]any
	if err := json.Unmarshal(sent, &body); err != nil {
		return nil, err
	}
	messages, _ := body["messages"].([]any)
	body["messages"] = append(append(messages, found.message), found.toolResults...)
	return json.Marshal(body)
}

// groundingRedirect is how the addresses of Gemini's sources begin: they redirect to the page.
const groundingRedirect = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/"

// resolve replaces addresses that redirect to a page by the address of the page.
func (e *engine) resolve(ctx context.Context, found []Result) {
	var all sync.WaitGroup
	for i := range found[:min(len(found), 10)] {
		if !strings.HasPrefix(found[i].URL, groundingRedirect) {
			continue
		}
		all.Go(func() {
			got, err := e.client.Do(ctx, outbound.Request{
				Method: http.MethodHead, URL: found[i].URL, Timeout: 5 * time.Second,
			})
			if err != nil {
				return
			}
			defer got.Body.Close()
			if to := got.Header.Get("Location"); to != "" {
				found[i].URL = to
			}
		})
	}
	all.Wait()
}
