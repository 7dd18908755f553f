// Package scoreboard serves a web that scores any crawler, rule by rule, over ports of 127.0.0.1. Its index leads to all
// sites. A polite crawler may leave some hosts early; that does not count against it.
//
//	board := scoreboard.New("examplebot", false)
//	err := board.Start()
//	…the crawler begins at board.Seed()…
//	score := board.Judge(scoreboard.Ending{Shown: true})
package scoreboard
