package scrub

import "strings"

// often has the bytes that the filter tells apart at the second place of a
// window, as small letters and what follows them in ASCII, from those that text
// has there least to those that it has most.
const often = "~|\x7fk{gzwfyxvj}bqdcmhulpansoiret`"

// inText and inFilter are what a byte makes of the rarity of a window: anywhere
// in it, and at its second place, by which the filter says "no".
var inText, inFilter = tablesOfRarity()

func tablesOfRarity() (inText, inFilter [256]int8) {
	for i := range 256 {
		switch b := byte(i); {
		case !alnum.has(b):
			inText[b] = 4
		case digit.has(b), strings.IndexByte("jqxz", fold(b)) >= 0:
			inText[b] = 3
		case strings.IndexByte("kvwybp", fold(b)) >= 0:
			inText[b] = 1
		}
		inFilter[i] = int8(len(often)-strings.IndexByte(often, byte(i)&0x1f|0x60)) / 2
	}
	return inText, inFilter
}

// rarest is where in s, which may be a word, the four bytes begin that text
// holds least often.
func rarest(s string) (at int) {
	best := int8(-1)
	for i := 0; i+4 <= len(s); i++ {
		if sum := inText[s[i]] + inText[s[i+1]] + inText[s[i+2]] + inText[s[i+3]]; sum > best {
			best, at = sum, i
		}
	}
	return at
}

// rarity is higher the less often text without the window that s begins with
// comes through the filter for it.
func rarity(s string) int {
	return int(inText[s[0]] + inText[s[1]] + inText[s[2]] + inText[s[3]] + inFilter[s[1]])
}

// rarestTwo are where in s, which has eight bytes or more, the windows of most
// rarity are that have no byte in common.
func rarestTwo(s string) (first, second int) {
	best, left := -1, 0
	for right := 4; right+4 <= len(s); right++ {
		if rarity(s[right-4:]) > rarity(s[left:]) {
			left = right - 4
		}
		if sum := rarity(s[left:]) + rarity(s[right:]); sum > best {
			best, first, second = sum, left, right
		}
	}
	return first, second
}
