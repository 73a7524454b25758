package telemetry

import (
	"math"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// The following types are the wire format of OTLP 1.x in its JSON encoding: ids in hex, 64-bit
// numbers as strings, enumerations as numbers.
type (
	exportRequest struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   wireResource `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
		SchemaURL  string       `json:"schemaUrl,omitempty"`
	}
	wireResource struct {
		Attributes []wireAttribute `json:"attributes"`
	}
	scopeSpans struct {
		Scope     wireScope  `json:"scope"`
		Spans     []wireSpan `json:"spans"`
		SchemaURL string     `json:"schemaUrl,omitempty"`
	}
	wireScope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	wireSpan struct {
		TraceID           string          `json:"traceId"`
		SpanID            string          `json:"spanId"`
		TraceState        string          `json:"traceState,omitempty"`
		ParentSpanID      string          `json:"parentSpanId,omitempty"`
		Flags             uint32          `json:"flags"`
		Name              string          `json:"name"`
		Kind              int             `json:"kind"`
		Start             nanoseconds     `json:"startTimeUnixNano"`
		End               nanoseconds     `json:"endTimeUnixNano"`
		Attributes        []wireAttribute `json:"attributes,omitempty"`
		DroppedAttributes int             `json:"droppedAttributesCount,omitempty"`
		Events            []wireEvent     `json:"events,omitempty"`
		DroppedEvents     int             `json:"droppedEventsCount,omitempty"`
		Links             []wireLink      `json:"links,omitempty"`
		DroppedLinks      int             `json:"droppedLinksCount,omitempty"`
		Status            wireStatus      `json:"status"`
	}
	wireEvent struct {
		Time       nanoseconds     `json:"timeUnixNano"`
		Name       string          `json:"name"`
		Attributes []wireAttribute `json:"attributes,omitempty"`
	}
	wireLink struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		Attributes []wireAttribute `json:"attributes,omitempty"`
	}
	wireStatus struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	wireAttribute struct {
		Key   string    `json:"key"`
		Value wireValue `json:"value"`
	}
	// A wireValue has one entry, which is named for its type, or none for an empty value.
	wireValue map[string]any
)

// nanoseconds is a time in the format of OTLP.
type nanoseconds time.Time

func (n nanoseconds) MarshalText() ([]byte, error) {
	return strconv.AppendInt(nil, time.Time(n).UnixNano(), 10), nil
}

// Flags of a span in addition to those of W3C: whether it is known where the parent is, and
// whether it is in another process.
const (
	parentKnown  = 0x100
	parentRemote = 0x200
)

// An encoder converts spans to their wire format. It scrubs every text that may come from
// outside. The scrubber may now know secrets that it did not know when the span ended.
type encoder struct{ scrub func(string) string }

// request encodes a batch. All spans of a batch have the same resource.
func (e encoder) request(spans []sdktrace.ReadOnlySpan) exportRequest {
	if len(spans) == 0 {
		return exportRequest{ResourceSpans: []resourceSpans{}}
	}
	resource := spans[0].Resource()
	byScope := make(map[instrumentation.Scope]int)
	var scopes []scopeSpans
	for _, span := range spans {
		scope := span.InstrumentationScope()
		i, ok := byScope[scope]
		if !ok {
			i = len(scopes)
			byScope[scope] = i
			scopes = append(scopes, scopeSpans{
				Scope:     wireScope{Name: scope.Name, Version: scope.Version},
				SchemaURL: scope.SchemaURL,
			})
		}
		scopes[i].Spans = append(scopes[i].Spans, e.span(span))
	}
	return exportRequest{ResourceSpans: []resourceSpans{{
		Resource:   wireResource{Attributes: e.attributes(resource.Attributes())},
		ScopeSpans: scopes,
		SchemaURL:  resource.SchemaURL(),
	}}}
}

func (e encoder) span(s sdktrace.ReadOnlySpan) wireSpan {
	id, parent := s.SpanContext(), s.Parent()
	w := wireSpan{
		TraceID:           id.TraceID().String(),
		SpanID:            id.SpanID().String(),
		TraceState:        e.traceState(id.TraceState()),
		Flags:             uint32(id.TraceFlags()) | parentKnown,
		Name:              e.scrub(s.Name()),
		Kind:              int(s.SpanKind()), // OTLP uses the same numbers
		Start:             nanoseconds(s.StartTime()),
		End:               nanoseconds(s.EndTime()),
		Attributes:        e.attributes(s.Attributes()),
		DroppedAttributes: s.DroppedAttributes(),
		DroppedEvents:     s.DroppedEvents(),
		DroppedLinks:      s.DroppedLinks(),
		Status:            e.status(s.Status()),
	}
	if parent.HasSpanID() {
		w.ParentSpanID = parent.SpanID().String()
	}
	if parent.IsRemote() {
		w.Flags |= parentRemote
	}
	for _, event := range s.Events() {
		w.Events = append(w.Events, wireEvent{
			nanoseconds(event.Time), e.scrub(event.Name), e.attributes(event.Attributes),
		})
	}
	for _, link := range s.Links() {
		w.Links = append(w.Links, wireLink{
			link.SpanContext.TraceID().String(), link.SpanContext.SpanID().String(), e.attributes(link.Attributes),
		})
	}
	return w
}

// traceState returns the state that the client sent, or "" if it has a secret: the rest would
// be meaningless.
func (e encoder) traceState(state trace.TraceState) string {
	text := state.String()
	if e.scrub(text) != text {
		return ""
	}
	return text
}

// status converts a status. OTLP and the SDK use different numbers.
func (e encoder) status(s sdktrace.Status) wireStatus {
	switch s.Code {
	case codes.Ok:
		return wireStatus{Code: 1}
	case codes.Error:
		return wireStatus{Code: 2, Message: e.scrub(s.Description)}
	}
	return wireStatus{}
}

func (e encoder) attributes(attrs []attribute.KeyValue) []wireAttribute {
	wire := make([]wireAttribute, 0, len(attrs))
	for _, a := range attrs {
		wire = append(wire, wireAttribute{string(a.Key), e.value(a.Value)})
	}
	return wire
}

func (e encoder) value(v attribute.Value) wireValue {
	switch v.Type() {
	case attribute.BOOL:
		return wireValue{"boolValue": v.AsBool()}
	case attribute.INT64:
		return wireValue{"intValue": strconv.FormatInt(v.AsInt64(), 10)}
	case attribute.FLOAT64:
		return wireValue{"doubleValue": double(v.AsFloat64())}
	case attribute.STRING:
		return wireValue{"stringValue": e.scrub(v.AsString())}
	case attribute.BYTESLICE:
		return wireValue{"bytesValue": []byte(e.scrub(string(v.AsByteSlice())))} // JSON encodes it as base64
	case attribute.BOOLSLICE:
		return list(e, v.AsBoolSlice(), attribute.BoolValue)
	case attribute.INT64SLICE:
		return list(e, v.AsInt64Slice(), attribute.Int64Value)
	case attribute.FLOAT64SLICE:
		return list(e, v.AsFloat64Slice(), attribute.Float64Value)
	case attribute.STRINGSLICE:
		return list(e, v.AsStringSlice(), attribute.StringValue)
	case attribute.SLICE:
		return list(e, v.AsSlice(), func(item attribute.Value) attribute.Value { return item })
	case attribute.MAP:
		return wireValue{"kvlistValue": map[string]any{"values": e.attributes(v.AsMap())}}
	}
	return wireValue{}
}

func list[T any](e encoder, items []T, value func(T) attribute.Value) wireValue {
	values := make([]wireValue, 0, len(items))
	for _, item := range items {
		values = append(values, e.value(value(item)))
	}
	return wireValue{"arrayValue": map[string]any{"values": values}}
}

// double returns a number, or the name that protocol buffers use for a value that JSON cannot
// represent.
func double(f float64) any {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return f
}
