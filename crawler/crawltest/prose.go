package crawltest

// This file makes up text for the pages of webs that crawlers are tried on: no two sentences in a row say the same,
// and the same random source gives the same text.

import (
	"math/rand/v2"
	"strings"
)

// The words that text is made of: a sentence has one of each.
var (
	Someone = []string{"the baker", "a neighbour", "our founder", "the night watch", "every visitor", "an old friend",
		"the choir", "the ferryman", "a class of twelve", "the librarian"}
	Did = []string{"opened", "repaired", "counted", "painted", "remembered", "carried home", "wrote about",
		"photographed", "gave away", "catalogued"}
	Thing = []string{"the small door", "a box of letters", "the second clock", "the long table", "a map of the town",
		"the blue lamp", "the winter timetable", "a jar of plums", "the spare key", "a quiet corner"}
	Moment = []string{"before sunrise", "in the spring of 1987", "on a rainy Tuesday", "after the last bell",
		"during the festival", "once a year", "between two trains", "for the first time", "when nobody looked",
		"by candlelight"}
)

// Paragraphs makes up text, the same for the same r. subjects, if any, stand beside the usual ones.
func Paragraphs(r *rand.Rand, subjects []string) string {
	pick := func(words []string) string { return words[r.IntN(len(words))] }
	who := append(append([]string(nil), subjects...), Someone...)
	var b strings.Builder
	for par := range 2 + r.IntN(3) {
		if par > 0 {
			b.WriteString("\n\n")
		}
		for s := range 3 + r.IntN(4) {
			if s > 0 {
				b.WriteByte(' ')
			}
			subject := pick(who)
			b.WriteString(strings.ToUpper(subject[:1]) + subject[1:] + " " + pick(Did) + " " + pick(Thing) + " " +
				pick(Moment) + ".")
		}
	}
	return b.String()
}
