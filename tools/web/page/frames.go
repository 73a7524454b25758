package page

import "strings"

const (
	maxFrames     = 500 // animations of a page
	maxAnimations = 4   // of one element
)

// frame notes where an animation ends.
func (s *sheet) frame(head, body string) {
	_, name, _ := strings.Cut(head, " ")
	if name = strings.Trim(strings.TrimSpace(name), `"'`); name == "" || len(s.frames) >= maxFrames {
		return
	}
	for body != "" {
		at, rest, found := strings.Cut(body, "{")
		if !found {
			return
		}
		var says string
		says, body = block(rest)
		for one := range strings.SplitSeq(strings.ToLower(at), ",") {
			if one = strings.TrimSpace(one); one == "to" || one == "100%" {
				if s.frames == nil {
					s.frames = map[string][]declaration{}
				}
				s.frames[name] = declarations(says)
			}
		}
	}
}

// end has the animations of a box come to their ends, if nothing of it is seen
// at first: pages let texts fade in.
func (s *sheet) end(b *box) {
	if len(s.frames) == 0 || b.animation == "" || !b.none && !b.unseen() && b.visible != "hidden" {
		return
	}
	left := maxAnimations
	for word := range strings.FieldsFuncSeq(b.animation, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' || r == '\t' }) {
		says, named := s.frames[word]
		if !named {
			continue
		}
		for _, d := range says {
			if d.property != "display" {
				b.set(d.property, d.value)
			}
		}
		if left--; left == 0 {
			return
		}
	}
}

// slow reports whether a property passes from one value to another: then it does
// not stay as it is at first, such as of what comes in when it is scrolled to.
func (b *box) slow(property string) bool {
	for one := range strings.SplitSeq(b.transition, ",") {
		for word := range strings.FieldsSeq(one) {
			if word == "all" || strings.Contains(word, property) {
				return true
			}
		}
	}
	first := strings.TrimSpace(b.transition)
	return first != "" && (first[0] == '.' || first[0] >= '0' && first[0] <= '9') // of all properties
}
