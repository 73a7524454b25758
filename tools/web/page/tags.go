package page

import (
	"bytes"
	"sync"

	"golang.org/x/net/html"
)

// traits are what is to be known of an element before there is a tree.
type traits uint8

const (
	isRaw       traits = 1 << iota // its content is no markup
	endsForeign                    // it ends formulas and drawings
	isInline                       // the parser opens nothing again at it, or only once
	isFormat                       // it is a formatting element
	isScope                        // it keeps end tags from reaching out of it
)

func (t traits) has(one traits) bool { return t&one != 0 }

// A tag is the name of an element with its traits.
type tag struct {
	name string
	traits
}

// knownTags are the tags that have any traits. One look tells all, and gives the
// name without a copy: a page has thousands of tags.
var knownTags = sync.OnceValue(func() map[string]tag {
	all := map[string]tag{}
	for trait, names := range map[traits]map[string]bool{isRaw: rawText, endsForeign: breaksOut, isInline: inlineTags, isFormat: formatting, isScope: scoping} {
		for name := range names {
			all[name] = tag{name, all[name].traits | trait}
		}
	}
	return all
})

// tagIn is the tag that a tokenizer is at. Most names can be read as they stand,
// which spares the copies that the tokenizer makes of each.
func tagIn(z *html.Tokenizer) tag {
	raw := bytes.TrimPrefix(z.Raw()[1:], []byte("/"))
	for i, c := range raw {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			continue
		case c == '>' || c == ' ' || c == '/' || c == '\n':
			return tagNamed(raw[:i])
		}
		break
	}
	name, _ := z.TagName()
	return tagNamed(name)
}

func tagNamed(name []byte) tag {
	if known, ok := knownTags()[string(name)]; ok {
		return known
	}
	return tag{name: string(name)}
}
