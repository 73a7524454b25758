package ignore

import (
	"errors"
	"fmt"
)

var errBraces = errors.New("a { has no closing }")

// expand expands the braces of a pattern: a{b,c}d becomes abd and acd. Braces may be
// nested. Braces within a class and escaped braces are ordinary characters.
func expand(pattern string) ([]string, error) {
	done := []string{""}
	for from := 0; from < len(pattern); {
		open, err := indexUnescaped(pattern, from, "{")
		if err != nil {
			return nil, err
		}
		if open == len(pattern) {
			return product(done, []string{pattern[from:]})
		}
		if done, err = product(done, []string{pattern[from:open]}); err != nil {
			return nil, err
		}
		var choices []string
		if choices, from, err = alternatives(pattern, open+1); err != nil {
			return nil, err
		}
		if done, err = product(done, choices); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// alternatives expands the alternatives between two braces. It also returns the
// offset after the closing brace.
func alternatives(pattern string, from int) ([]string, int, error) {
	var all []string
	for start, at, depth := from, from, 0; ; at++ {
		var err error
		if at, err = indexUnescaped(pattern, at, "{,}"); err != nil {
			return nil, 0, err
		}
		if at == len(pattern) {
			return nil, 0, errBraces
		}
		switch c := pattern[at]; {
		case c == '{':
			depth++
			continue
		case depth > 0:
			if c == '}' {
				depth--
			}
			continue
		}
		choices, err := expand(pattern[start:at])
		if err != nil {
			return nil, 0, err
		}
		if all = append(all, choices...); len(all) > maxAlternatives {
			return nil, 0, errAlternatives()
		}
		if pattern[at] == '}' {
			return all, at + 1, nil
		}
		start = at + 1
	}
}

// indexUnescaped returns the offset of the first of chars that is neither escaped
// nor in a class, or the length of the pattern.
func indexUnescaped(pattern string, from int, chars string) (int, error) {
	for i := from; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
			continue
		case '[':
			_, size, err := parseClass(pattern[i:], dialect{})
			if err != nil {
				return 0, err
			}
			i += size - 1
			continue
		}
		for j := range len(chars) {
			if pattern[i] == chars[j] {
				return i, nil
			}
		}
	}
	return len(pattern), nil
}

// product returns the concatenations of each string of before with each of after.
func product(before, after []string) ([]string, error) {
	if len(before)*len(after) > maxAlternatives {
		return nil, errAlternatives()
	}
	all := make([]string, 0, len(before)*len(after))
	for _, b := range before {
		for _, a := range after {
			all = append(all, b+a)
		}
	}
	return all, nil
}

func errAlternatives() error {
	return fmt.Errorf("its braces expand to more than %d patterns", maxAlternatives)
}
