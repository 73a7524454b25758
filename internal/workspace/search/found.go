package search

// A Mode selects what a search returns.
type Mode string

// The modes.
const (
	Content Mode = "content" // addLines
	Names   Mode = "files"   // files with a match
	Count   Mode = "count"   // files with their number of matches
)

// Found is the result of a search. Its files are ordered by name.
type Found struct {
	Files   []FileMatches
	Matches int // matching lines in the files that were read
	// More reports that there are more results than were returned. The search
	// stops when it has enough.
	More     bool
	Unread   int      // files that could not be read
	Searched int      // files that were searched, or known not to match
	Unlisted []string // directories that could not be read
}

// FileMatches are the matches in one file.
type FileMatches struct {
	Name    string
	Matches int    // matching lines
	Lines   []Line // in mode Content
	Binary  bool   // the file has a match and is not text
}

// A Line is a matching line, or a line of its context.
type Line struct {
	Number int
	Text   string
	Match  bool
	Column int // where Text begins if a long line was cut at its start; 0 otherwise
	Cut    int // emitBytes of the line that are not shown
}
