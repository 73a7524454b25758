package discovery

import (
	"embed"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/readers"
)

//go:embed synonyms.txt verbs.txt words.txt
var files embed.FS

// acts is a set of actions of a tool or a request.
type acts uint8

const (
	creates acts = 1 << iota
	reads
	lists
	searches
	updates
	deletes
	sends
	runs

	reading = reads | lists | searches
)

// A vocabulary has facts about words in stemmed form.
type vocabulary struct {
	same  map[string]map[string]float64 // words of tools, by a word of users, and how likely they are meant
	acts  map[string]acts
	words map[string]string // words of users, by the name of a tool
}

// known returns the vocabulary. It is read at the first search.
var known = sync.OnceValue(func() vocabulary {
	v := vocabulary{make(map[string]map[string]float64), make(map[string]acts), make(map[string]string)}
	mean := func(words, others []string, factor float64) {
		for _, word := range words {
			for _, other := range others {
				if v.same[word] == nil {
					v.same[word] = make(map[string]float64)
				}
				if word != other {
					v.same[word][other] = max(v.same[word][other], factor)
				}
			}
		}
	}
	for line := range lines("synonyms.txt") {
		if left, right, ok := strings.Cut(line, "="); ok {
			mean(stems(left), stems(right), asEqual)
			mean(stems(right), stems(left), asEqual)
		} else if left, right, ok := strings.Cut(line, ">"); ok {
			mean(stems(left), stems(right), asSynonym)
		} else {
			mean(stems(line), stems(line), asSynonym)
		}
	}
	names := map[string]acts{
		"create": creates, "read": reads, "list": lists, "search": searches, "update": updates, "delete": deletes,
		"send": sends, "run": runs,
	}
	for line := range lines("verbs.txt") {
		name, list, _ := strings.Cut(line, ":")
		for _, word := range stems(list) {
			v.acts[word] |= names[name]
		}
	}
	for line := range lines("words.txt") {
		name, list, _ := strings.Cut(line, ":")
		v.words[name] = list
	}
	return v
})

// lines returns the lines of one of the files, without comments.
func lines(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		text, err := files.ReadFile(name)
		if err != nil {
			panic(err) // it is part of the program
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if line != "" && line[0] != '#' && !yield(line) {
				return
			}
		}
	}
}

// actsOfName returns the actions of a tool by the first verb of its name, or by all of them, as
// in create_or_update.
func (v vocabulary) actsOfName(name string) (does acts) {
	all := words(name)
	for _, word := range all {
		if word == "new" || word == "tell" || word == "all" {
			continue
		}
		does |= v.acts[stem(word)]
		if does != 0 && !slices.Contains(all, "or") {
			break
		}
	}
	return does
}

// actsOfRequest returns the actions that a request with some words wants: questions want to
// read, others follow their first verb.
func (v vocabulary) actsOfRequest(all []string) acts {
	if len(all) > 0 && all[0] == "please" {
		all = all[1:]
	}
	if len(all) == 0 {
		return 0
	}
	switch all[0] {
	case "file": // a bug
		return creates
	case "what", "who", "which", "how", "is", "are", "was", "were", "does", "did", "do", "has", "have":
		return reading
	case "any":
		return lists | searches
	case "where", "when", "whose":
		return reads | searches
	case "why", "can":
		return reads
	case "tell", "give", "show", "let":
		if len(all) > 1 && (all[1] == "me" || all[1] == "us") {
			return reading
		}
	}
	return v.acts[stem(all[0])]
}

// maxTerms is the number of words of a long request that are compared.
const maxTerms = 100

// A term is a word of a request and how much it counts.
type term struct {
	word  string
	share float64
}

// terms returns the terms of a request, each word once. A name, such as the name of a file, is
// replaced by words for its kind.
func terms(request string) (found []term) {
	add := func(words []string, share float64) {
		for _, word := range words {
			at := slices.IndexFunc(found, func(t term) bool { return t.word == word })
			if at < 0 {
				found = append(found, term{word, share})
			} else {
				found[at].share = max(found[at].share, share)
			}
		}
	}
	for i, part := range strings.Fields(request) {
		part = strings.Trim(part, `.,;:!?"'()`)
		switch meaning, named := kindOf(part); {
		case i == 0 && strings.EqualFold(part, "file"): // a bug
		case strings.EqualFold(part, "who"):
			add([]string{"user"}, 0.5)
		case named:
			add(stems(meaning), 0.8)
		default:
			add(stems(part), 1)
		}
	}
	return found[:min(len(found), maxTerms)]
}

// kindOf returns words for the kind of thing that a part of a request names by its form: a URL,
// a channel, a number, a ticket, a file, a site, or something in code.
func kindOf(part string) (meaning string, named bool) {
	letters := strings.TrimLeft(part, "#")
	switch {
	case strings.HasPrefix(part, "http://"), strings.HasPrefix(part, "https://"):
		return "url web page", true
	case letters == "":
		return "", false
	case strings.Trim(letters, "0123456789.,:") == "":
		return "", true
	case part[0] == '#':
		return "channel message slack", true
	case isTicket(part):
		return "ticket issue jira", true
	}
	if dot := strings.LastIndexByte(part, '.'); dot >= 0 {
		ending := strings.ToLower(part[dot+1:])
		switch kind := kindOfEnding(ending); kind {
		case "":
			return "", false
		case "site":
			return "site url", true
		case "file":
			return "file " + ending, true
		default:
			return "file " + kind + " " + ending, true
		}
	}
	switch part {
	case "README", "Makefile", "makefile", "Dockerfile", "LICENSE", "CHANGELOG":
		return "file", true
	}
	if unicode.IsLower(rune(part[0])) && strings.ContainsFunc(part, unicode.IsUpper) { // parseConfig
		return "function code", true
	}
	return "", false
}

// isTicket reports whether a text is the key of a ticket, such as WEB-12.
func isTicket(text string) bool {
	project, number, ok := strings.Cut(text, "-")
	return ok && len(project) > 1 && strings.Trim(project, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" &&
		number != "" && strings.Trim(number, "0123456789") == ""
}

// kindOfEnding returns a word for the kind of thing with a name of this ending.
func kindOfEnding(ending string) string {
	switch ending {
	case "png", "jpg", "jpeg", "gif", "webp", "svg", "heic", "bmp", "tiff":
		return "image"
	case "mp3", "wav", "ogg", "m4a", "flac":
		return "audio"
	case "mp4", "mov", "mkv", "webm", "avi":
		return "video"
	case "zip", "tar", "gz", "tgz":
		return "archive"
	case "com", "org", "net", "io", "dev", "edu", "gov":
		return "site"
	case "go", "py", "js", "ts", "tsx", "jsx", "md", "txt", "conf", "cfg", "ini", "toml", "yaml", "yml", "json", "csv",
		"log", "sh", "html", "css", "xml", "sql", "java", "c", "h", "cpp", "rs", "rb", "php", "env", "lock", "mod",
		"ipynb":
		return "file"
	}
	if h := readers.Formats().Of(document.Format(ending)); h.Kind != "" {
		return "document"
	}
	return ""
}

// words returns the words of a text in small letters. Names are split: getJiraIssue is three words.
func words(text string) (all []string) {
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			all = append(all, word.String())
		}
		word.Reset()
	}
	lower := false
	for _, c := range text {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			end()
			lower = false
			continue
		case unicode.IsUpper(c) && lower:
			end()
		}
		lower = unicode.IsLower(c)
		word.WriteRune(unicode.ToLower(c))
	}
	end()
	return all
}

// stems returns the words of a text without endings, and without words that say nothing.
func stems(text string) (all []string) {
	for _, word := range words(text) {
		if s := stem(word); !isFiller(s) {
			all = append(all, s)
		}
	}
	return all
}

// stem removes the endings of English words.
func stem(word string) string {
	for _, e := range [...]struct{ from, to string }{
		{"ies", "y"}, {"sses", "ss"}, {"ches", "ch"}, {"shes", "sh"}, {"xes", "x"}, {"ings", ""}, {"ing", ""},
		{"ed", ""},
		{"s", ""},
	} {
		cut, found := strings.CutSuffix(word, e.from)
		if !found || len(cut) < 3 || e.from == "s" && strings.HasSuffix(cut, "s") {
			continue
		}
		word = cut + e.to
		if e.to == "" && e.from != "s" && len(word) > 3 && word[len(word)-1] == word[len(word)-2] &&
			!strings.ContainsRune("sl", rune(word[len(word)-1])) {
			word = word[:len(word)-1] // running
		}
		break
	}
	if len(word) > 4 {
		word = strings.TrimSuffix(word, "e") // merge and merging
	}
	return word
}

// fillers are the words, as stems, that say nothing about a tool.
var fillers = strings.Fields(`
	a an the to of in on at is are was were be been and or it its this that thes those i me my we our you your he she
	they do doe did doesn t with for from by as so into out can could would should pleas what how why when there has
	have had will if not no but about than them their let some any one now yet just called call us am s re must may who
`)

// isFiller reports whether a word says nothing about a tool.
func isFiller(word string) bool { return slices.Contains(fillers, word) }
