// Package torture is a web made to try mirrors by: whatever a page can be made of, whatever a name of a file can be,
// and what no mirror should hold. Each resource can be told from all others by who opens the mirror, and the pages say
// what they expect (Web has the attributes).
//
// New, a Web's Seed, Pages, IDs and Absent are the door. How pictures, sounds and fonts come to be each another one,
// and the little language in which pages say what they refer to, are hidden.
package torture
