// Package house holds no code: its tests keep the rules of the code base.
// Packages import what arrows.txt lists, each large library is imported in one
// place, nothing runs before main, globals do not change, every package has a
// package comment, comments are plain English, and lines have at most 120
// characters. Size by area is printed against a budget and fails no test.
package house
