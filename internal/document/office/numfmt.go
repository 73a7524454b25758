package office

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// numberFormat shows numbers as a format code of Excel prescribes, in English. It knows the
// parts of the code that change the meaning of a number, but not colours, alignment and
// fractions.
type numberFormat struct{ sections []section }

// section is one of up to four parts of a code: for positive numbers, negative ones, zero
// and text. A part may have its own condition instead.
type section struct {
	tokens    []token
	condition string // such as >=100
	isDate    bool
	percent   int
	scale     int // thousands that are left out
	comma     bool
	integers  int // digits before the point at least
	decimals  int // at most
	required  int // digits after the point at least
	exponent  bool
	twelve    bool // AM and PM
}

// token is a literal or a placeholder.
type token struct {
	kind byte // " literal, 0 digits, . point, E exponent, @ text, or y m d h s for dates, a for AM, [ for elapsed time
	text string
}

// builtins are the codes of formats that workbooks name by number only. Short dates are ISO
// dates; Excel shows them in the order of the country.
var builtins = map[int]string{
	1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00", 48: "##0.0E+0",
	37: "#,##0", 38: "#,##0", 39: "#,##0.00", 40: "#,##0.00",
	41: "#,##0", 42: "#,##0", 43: "#,##0.00", 44: "#,##0.00",
	15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 22: "yyyy-mm-dd h:mm",
	18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0",
	32: "h:mm", 33: "h:mm", 55: "h:mm", 56: "h:mm",
	14: "yyyy-mm-dd", 27: "yyyy-mm-dd", 28: "yyyy-mm-dd", 29: "yyyy-mm-dd", 30: "yyyy-mm-dd", 31: "yyyy-mm-dd",
	34: "yyyy-mm-dd", 35: "yyyy-mm-dd", 36: "yyyy-mm-dd", 50: "yyyy-mm-dd", 51: "yyyy-mm-dd", 52: "yyyy-mm-dd",
	53: "yyyy-mm-dd", 54: "yyyy-mm-dd", 57: "yyyy-mm-dd", 58: "yyyy-mm-dd",
}

// parseFormat returns the format of a code, nil for one that changes nothing.
func parseFormat(code string) *numberFormat {
	if code == "" || strings.EqualFold(code, "general") || code == "@" || len(code) > 1000 {
		return nil
	}
	f := &numberFormat{}
	for rest := code; ; {
		s, after, more := parseSection(rest)
		if s == nil {
			return nil
		}
		if len(f.sections) == 0 || !strings.Contains(s.kinds(), "@") { // the others are for texts
			f.sections = append(f.sections, *s)
		}
		if !more || len(f.sections) == 4 {
			return f
		}
		rest = after
	}
}

// parseSection reads a code up to the next semicolon. It returns nil for fractions.
func parseSection(code string) (s *section, rest string, more bool) {
	p := sectionParser{section: &section{}, code: code}
	for p.at < len(code) {
		switch c := code[p.at]; {
		case c == ';':
			return p.finish(), code[p.at+1:], true
		case c == '[':
			end := strings.IndexByte(code[p.at:], ']')
			if end < 0 {
				return nil, "", false
			}
			p.bracket(code[p.at+1:p.at+end], p.add)
			p.at += end + 1
		case c == '/' && !p.isDate && strings.Contains(p.kinds(), "0"):
			return nil, "", false // a fraction
		case c == '0' || c == '#' || c == '?':
			p.digits(c)
		case c == '.':
			p.point()
		case c == ',':
			p.commas()
		case !p.symbol() && !p.quoted(c):
			_, size := utf8.DecodeRuneInString(code[p.at:])
			p.literal(0, size)
		}
	}
	return p.finish(), "", false
}

// A sectionParser reads the code of a section.
type sectionParser struct {
	*section
	code       string
	at         int  // where it reads
	afterPoint bool // after the decimal point
}

// add adds a token. Literals that follow each other become one.
func (p *sectionParser) add(kind byte, text string) {
	last := len(p.tokens) - 1
	if kind == '"' && last >= 0 && p.tokens[last].kind == '"' {
		p.tokens[last].text += text
		return
	}
	p.tokens = append(p.tokens, token{kind, text})
}

// take adds a token for the next n bytes.
func (p *sectionParser) take(kind byte, text string, n int) bool {
	p.add(kind, text)
	p.at += n
	return true
}

// literal skips some bytes and adds the n bytes after them as they are.
func (p *sectionParser) literal(skip, n int) bool {
	from := p.at + skip
	return p.take('"', p.code[from:from+n], skip+n)
}

// run returns how often the next byte follows, in either case.
func (p *sectionParser) run() int {
	n := 1
	for p.at+n < len(p.code) && lower(p.code[p.at+n]) == lower(p.code[p.at]) {
		n++
	}
	return n
}

// quoted reads a literal in quotes, a character after a backslash, or the space of a
// character.
func (p *sectionParser) quoted(c byte) bool {
	after := p.code[p.at+1:]
	_, size := utf8.DecodeRuneInString(after)
	switch {
	case c == '"':
		end := strings.IndexByte(after, '"')
		if end < 0 {
			end = len(after)
		}
		p.literal(1, end)
		p.at = min(p.at+1, len(p.code))
		return true
	case c == '\\' && after != "":
		return p.literal(1, size)
	case (c == '_' || c == '*') && after != "":
		p.at += 1 + size
		return true
	}
	return false
}

// digits reads equal places for digits.
func (p *sectionParser) digits(c byte) {
	n := p.run()
	p.at += n
	switch {
	case p.exponent:
	case p.afterPoint:
		p.decimals += n
		if c == '0' {
			p.required = p.decimals
		}
	default:
		if c == '0' {
			p.integers += n
		}
		p.places(p.code[p.at-n : p.at])
	}
}

// places adds places for digits before the point.
func (p *sectionParser) places(places string) {
	if last := len(p.tokens) - 1; last >= 0 && p.tokens[last].kind == '0' {
		p.tokens[last].text += places
	} else {
		p.add('0', places)
	}
}

func (p *sectionParser) point() {
	next := p.at + 1
	if p.isDate && (next == len(p.code) || p.code[next] != '0') {
		p.literal(0, 1)
		return
	}
	if p.at = next; p.afterPoint {
		return
	}
	p.afterPoint = true
	if len(p.tokens) == 0 || !p.isDate {
		p.places("")
	}
	p.add('.', "")
}

// commas reads separators of thousands or, after the last digit, divisions by a thousand.
func (p *sectionParser) commas() {
	if p.isDate {
		p.literal(0, 1)
		return
	}
	n := p.run()
	p.at += n
	if p.at < len(p.code) && strings.IndexByte("0#?", p.code[p.at]) >= 0 {
		p.comma = true
	} else {
		p.scale += n
	}
}

// symbol reads a part of a date or time, a percent sign, an exponent, or the place of a text.
func (p *sectionParser) symbol() bool {
	rest := p.code[p.at:]
	begins := func(word string) bool { return len(rest) >= len(word) && strings.EqualFold(rest[:len(word)], word) }
	switch l := lower(rest[0]); {
	case l == '%':
		p.percent++
		return p.literal(0, 1)
	case !p.isDate && (begins("e+") || begins("e-")):
		p.exponent = true
		return p.take('E', "", 2)
	case l == '@':
		return p.take('@', "", 1)
	case begins("general"):
		return p.take('g', "", 7)
	case (l == 'e' || l == 'g') && !strings.ContainsAny(p.code, "0#?"): // the year and the era of Japan
		p.isDate = true
		return p.take('y', strings.Repeat("y", map[byte]int{'e': 4}[l]), p.run())
	case strings.IndexByte("ymdhs", l) >= 0:
		p.isDate = true
		n := p.run()
		return p.take(l, strings.ToLower(rest[:n]), n)
	case begins("AM/PM"):
		p.isDate, p.twelve = true, true
		return p.take('a', "AM", 5)
	case begins("A/P"):
		p.isDate, p.twelve = true, true
		return p.take('a', "A", 3)
	}
	return false
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// bracket reads the content of square brackets: a currency, elapsed time, a condition or a
// colour.
func (s *section) bracket(text string, add func(kind byte, text string)) {
	switch first := lower((text + " ")[0]); {
	case first == '$':
		currency, _, _ := strings.Cut(text[1:], "-")
		add('"', currency)
	case (first == 'h' || first == 'm' || first == 's') && strings.Trim(strings.ToLower(text), string(first)) == "":
		s.isDate = true
		add('[', strings.ToLower(text))
	case first == '<' || first == '>' || first == '=':
		s.condition = text
	}
}

// finish marks each m that means minutes: an m after hours or before seconds.
func (s *section) finish() *section {
	last := byte(0)
	for i := range s.tokens {
		switch t := &s.tokens[i]; t.kind {
		case 'm':
			next := byte(0)
			for _, after := range s.tokens[i+1:] {
				if after.kind != '"' && after.kind != '.' {
					next = after.kind
					break
				}
			}
			if last == 'h' || next == 's' {
				t.kind = 'n'
			}
			last = t.kind
		case '[':
			last = 'h'
		case 'y', 'd', 'h', 's':
			last = t.kind
		}
	}
	return s
}

// show returns a number as it is shown.
func (f *numberFormat) show(value float64, is1904 bool) string {
	s, negative := f.choose(value)
	if s == nil {
		return general(value)
	}
	if s.isDate {
		if when, ok := dateOf(value, is1904); ok {
			return s.date(when, value)
		}
		return general(value)
	}
	return s.number(value, negative)
}

// choose returns the section for a number, and whether it needs a minus sign.
func (f *numberFormat) choose(value float64) (s *section, minus bool) {
	for i := range f.sections {
		if c := f.sections[i].condition; c != "" {
			if holds(c, value) {
				return &f.sections[i], value < 0
			}
			if i == len(f.sections)-1 {
				return nil, false
			}
		}
	}
	if f.sections[0].condition != "" {
		return &f.sections[len(f.sections)-1], value < 0
	}
	switch n := len(f.sections); {
	case value < 0 && n > 1:
		return &f.sections[1], false
	case value == 0 && n > 2:
		return &f.sections[2], false
	}
	return &f.sections[0], value < 0
}

func holds(condition string, value float64) bool {
	operator := condition[:len(condition)-len(strings.TrimLeft(condition, "<>="))]
	limit, err := strconv.ParseFloat(strings.TrimSpace(condition[len(operator):]), 64)
	if err != nil {
		return false
	}
	switch operator {
	case "<":
		return value < limit
	case "<=":
		return value <= limit
	case ">":
		return value > limit
	case ">=":
		return value >= limit
	case "<>":
		return value != limit
	}
	return value == limit
}

// general returns a number as a cell without a format shows it.
func general(value float64) string {
	text := strconv.FormatFloat(value, 'g', 15, 64)
	if size := math.Abs(value); size >= 1e-5 && size < 1e15 || value == 0 {
		short, err := strconv.ParseFloat(text, 64)
		if err == nil {
			text = strconv.FormatFloat(short, 'f', -1, 64)
		}
	}
	return strings.Replace(text, "e", "E", 1)
}

func (s *section) number(value float64, minus bool) string {
	value = math.Abs(value) * math.Pow(100, float64(min(s.percent, 10))) / math.Pow(1000, float64(min(s.scale, 10)))
	decimals := min(s.decimals, 30)
	mantissa, exponent := "", ""
	if s.exponent {
		mantissa, exponent, _ = strings.Cut(strconv.FormatFloat(value, 'E', decimals, 64), "E")
	} else {
		mantissa = strconv.FormatFloat(roundHalf(value, decimals), 'f', decimals, 64)
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	for len(fraction) > s.required && strings.HasSuffix(fraction, "0") {
		fraction = fraction[:len(fraction)-1]
	}
	if whole == "0" && s.integers == 0 {
		whole = ""
	}
	for len(whole) < min(s.integers, 30) {
		whole = "0" + whole
	}
	if s.comma {
		whole = grouped(whole)
	}
	var b strings.Builder
	if minus && strings.Trim(mantissa, "0.") != "" {
		b.WriteByte('-')
	}
	places := 0
	for _, t := range s.tokens {
		if t.kind == '0' {
			places += len(t.text)
		}
	}
	for _, t := range s.tokens {
		switch t.kind {
		case '"':
			b.WriteString(t.text)
		case 'g', '@':
			b.WriteString(general(value))
		case '0': // literals may stand between the digits, as in 000-0000
			if places -= len(t.text); len(whole) > places {
				b.WriteString(whole[:len(whole)-places])
				whole = whole[len(whole)-places:]
			}
		case '.':
			if fraction != "" || s.required > 0 {
				b.WriteString("." + fraction)
			}
		case 'E':
			b.WriteString("E" + exponent)
		}
	}
	return strings.TrimSpace(b.String())
}

// roundHalf rounds as Excel does: 1.005 with two digits is 1.01, for it has 15 digits.
func roundHalf(value float64, decimals int) float64 {
	if value > 1e15 || decimals > 15 {
		return value
	}
	short, err := strconv.ParseFloat(strconv.FormatFloat(value*math.Pow(10, float64(decimals)), 'g', 15, 64), 64)
	if err != nil {
		return value
	}
	return math.Round(short) / math.Pow(10, float64(decimals))
}

func grouped(digits string) string {
	var b strings.Builder
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// dateOf returns the date of a number. The days before March 1900 are one off, as in Excel: it
// has a 29th of February in that year.
func dateOf(value float64, is1904 bool) (time.Time, bool) {
	if value < 0 || value > 2_958_466 {
		return time.Time{}, false
	}
	day, part := math.Modf(value)
	base := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	if is1904 {
		base = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	} else if day < 60 {
		base = base.AddDate(0, 0, 1)
	}
	return base.AddDate(0, 0, int(day)).Add(time.Duration(math.Round(part*86_400_000)) * time.Millisecond), true
}

func (s *section) date(when time.Time, value float64) string {
	if !strings.Contains(s.kinds(), ".") { // seconds without decimals are rounded
		when = when.Round(time.Second)
	}
	var b strings.Builder
	for i, t := range s.tokens {
		switch t.kind {
		case '"':
			b.WriteString(t.text)
		case 'y':
			if t.text == "" {
				continue
			}
			if len(t.text) <= 2 {
				b.WriteString(when.Format("06"))
			} else {
				b.WriteString(when.Format("2006"))
			}
		case 'm':
			layouts := []string{"1", "01", "Jan", "January"}
			if len(t.text) == 5 {
				b.WriteString(when.Format("Jan")[:1])
			} else {
				b.WriteString(when.Format(layouts[min(len(t.text), 4)-1]))
			}
		case 'd':
			layouts := []string{"2", "02", "Mon", "Monday"}
			b.WriteString(when.Format(layouts[min(len(t.text), 4)-1]))
		case 'h':
			hour := when.Hour()
			if s.twelve {
				hour = (hour+11)%12 + 1
			}
			b.WriteString(padded(hour, len(t.text)))
		case 'n':
			b.WriteString(padded(when.Minute(), len(t.text)))
		case 's':
			b.WriteString(padded(when.Second(), len(t.text)))
		case '.':
			digits := min(max(s.decimals, 1), 3)
			fraction := padded(when.Nanosecond()/1e6, 3)
			if i > 0 {
				b.WriteString("." + fraction[:digits])
			}
		case 'a':
			mark := map[bool]string{true: "PM", false: "AM"}[when.Hour() >= 12]
			b.WriteString(mark[:len(t.text)])
		case '[':
			units := map[byte]float64{'h': 24, 'm': 1440, 's': 86400}[t.text[0]]
			b.WriteString(padded(int(math.Floor(value*units+1e-6)), len(t.text)))
		}
	}
	return strings.TrimSpace(b.String())
}

// kinds returns the kinds of the tokens.
func (s *section) kinds() string {
	var b strings.Builder
	for _, t := range s.tokens {
		b.WriteByte(t.kind)
	}
	return b.String()
}

func padded(n, digits int) string { return fmt.Sprintf("%0*d", min(digits, 3), n) }
