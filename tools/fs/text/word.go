package text

// What takes credentials out of a text knows them by their whole, and half of
// one says a lot. So long lines are cut beside words and not within them.

// longestWord bounds what counts as one: longer runs are data.
const longestWord = 256

// WordStart is where the word begins that at is in, or at itself.
func WordStart[T string | []byte](s T, at int) int {
	for i := at; i >= 0 && at-i <= longestWord; i-- {
		if i == 0 || !inWord(s[i-1]) {
			return i
		}
	}
	return at
}

// WordEnd is where the word ends that at is in, or at itself.
func WordEnd[T string | []byte](s T, at int) int {
	for i := at; i <= len(s) && i-at <= longestWord; i++ {
		if i == len(s) || !inWord(s[i]) {
			return i
		}
	}
	return at
}

// inWord reports whether credentials, and addresses that hold some, go on over c.
func inWord(c byte) bool {
	switch c {
	case '"', '\'', '`', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', '&', '|', '\\':
		return false
	}
	return c > ' '
}
