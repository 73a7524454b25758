package config

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"go.yaml.in/yaml/v3"
)

// scalar reads a scalar.
func (d *decoder) scalar(s spot, v reflect.Value, f field) {
	if !fits(s.node, kindOf(f.typ)) {
		d.complain(s, "this is %s; accepted: %s", called(s.node), f.accepted())
		return
	}
	next := reflect.New(f.typ).Elem()
	if why := d.assign(s.node.Value, next, f); why != "" {
		d.complain(s, "%s; accepted: %s", why, f.accepted())
		return
	}
	v.Set(next)
}

// fits reports whether a node is a scalar that k accepts. Scalars that only look like
// text, such as an unquoted no or 1.0, are refused: quoting them is easy, and an allow
// list with a false in it is dangerous.
func fits(n *yaml.Node, k kind) bool {
	if n.Kind != yaml.ScalarNode {
		return false
	}
	switch tag := n.ShortTag(); k {
	case isBool:
		return tag == "!!bool"
	case isWhole:
		return tag == "!!int"
	case isWritten:
		return tag == "!!str" || tag == "!!int" || tag == "!!timestamp"
	default:
		return tag == "!!str" || tag == "!!timestamp"
	}
}

// assign sets v to the value of text, or returns its mistake.
func (d *decoder) assign(text string, v reflect.Value, f field) (why string) {
	switch kindOf(f.typ) {
	case isBool:
		yes, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil {
			return fmt.Sprintf("%q is neither", brief(text))
		}
		v.SetBool(yes)
	case isWhole:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Sprintf("%q is not a whole number", brief(text))
		}
		v.SetInt(int64(n))
	case isWritten:
		into := v.Addr().Interface()
		if d, ok := into.(*time.Duration); ok {
			into = (*Duration)(d)
		}
		if err := into.(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
			return fmt.Sprintf("%q: %v", brief(text), err)
		}
	default:
		return d.text(text, v, f)
	}
	if !within(v, f) {
		return fmt.Sprintf("%s is out of bounds", brief(text))
	}
	return ""
}

// text sets v to text of the declared form. Empty text means unset, unless the
// setting is required.
func (d *decoder) text(text string, v reflect.Value, f field) (why string) {
	if text == "" && f.required {
		return "this is empty"
	}
	if f.enum != nil && !slices.Contains(f.enum, text) {
		if near := tool.Nearest(text, f.enum); near != "" {
			return fmt.Sprintf("%q is unknown (did you mean %s?)", brief(text), near)
		}
		return fmt.Sprintf("%q is unknown", brief(text))
	}
	if f.form != "" && text != "" {
		shape := formNamed(f.form)
		settled, err := d.shape(text, shape)
		switch {
		case errors.Is(err, errPassword):
			return errPassword.Error()
		case err != nil && shape.hide:
			return "this is not accepted"
		case err != nil:
			return fmt.Sprintf("%q: %v", brief(text), err)
		}
		text = settled
	}
	v.SetString(text)
	return ""
}

// shape checks text against a form and returns its value.
func (d *decoder) shape(text string, f form) (string, error) {
	pattern := d.patterns[f.pattern]
	if pattern == nil {
		pattern = regexp.MustCompile("^(?:" + f.pattern + ")$")
		d.patterns[f.pattern] = pattern
	}
	if !pattern.MatchString(text) {
		return "", errors.New("not of the right form")
	}
	if f.check != nil {
		if err := f.check(text); err != nil {
			return "", err
		}
	}
	if f.settle != nil {
		return f.settle(text, d.at)
	}
	return text, nil
}

// within reports whether a number is within the declared bounds.
func within(v reflect.Value, f field) bool {
	if f.min == "" && f.max == "" {
		return true
	}
	return v.Int() >= bound(f, f.min, math.MinInt64) && v.Int() <= bound(f, f.max, math.MaxInt64)
}

// bound returns a bound as a number. The tests read every declaration, so an invalid
// bound is found there.
func bound(f field, text string, none int64) int64 {
	if text == "" {
		return none
	}
	if f.typ.Kind() == reflect.Map {
		f.typ = f.typ.Elem()
	}
	v := reflect.New(f.typ).Elem()
	f.min, f.max = "", ""
	if why := new(decoder).assign(text, v, f); why != "" {
		return none
	}
	return v.Int()
}
