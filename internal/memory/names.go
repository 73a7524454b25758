package memory

import (
	"fmt"
	"path"
	"strings"
)

// fileNames gives documents names that files can have: different ones also
// where case does not count, none within a file, none of another's card, none
// hidden, and none too long. A card keeps the name that a document had.
type fileNames struct{ files, dirs map[string]bool } // in lower case

func (f *fileNames) of(name string) string {
	steps := strings.Split(name, "/")
	last := len(steps) - 1
	dir := ""
	for _, step := range steps[:last] {
		dir = free(dir, fileStep(step), func(name string) bool { return f.files[name] })
		f.dirs[strings.ToLower(dir)] = true
		dir += "/"
	}
	file := free(dir, fileStep(steps[last]), func(name string) bool {
		return f.files[name] || f.dirs[name] || strings.HasSuffix(name, cardFile)
	})
	f.files[strings.ToLower(file)] = true
	return file
}

// free is a name in a directory that is not taken.
func free(dir, step string, taken func(string) bool) string {
	name, ext := dir+step, path.Ext(step)
	for n := 2; taken(strings.ToLower(name)); n++ {
		name = fmt.Sprintf("%s%s~%d%s", dir, strings.TrimSuffix(step, ext), n, ext)
	}
	return name
}

// fileStep is a step of a path that is neither hidden nor too long for a file.
func fileStep(step string) string {
	const most, longest = 200, 20
	if strings.HasPrefix(step, ".") {
		step = "~" + step
	}
	if len(step) <= most {
		return step
	}
	ext := path.Ext(step)
	if len(ext) > longest {
		ext = ""
	}
	return strings.ToValidUTF8(step[:most-len(ext)], "") + ext
}
