// Package house holds no code: its tests keep the rules of the house, so that
// none of them decays into prose. Packages import only downwards, every large
// library has one door, nothing happens before main, nothing global changes,
// every package says what it knows, and files and functions stay readable.
package house
