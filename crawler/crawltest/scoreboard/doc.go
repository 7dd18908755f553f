// Package scoreboard serves a web that scores any crawler, rule by rule. Each of its sites gives occasion to keep one
// rule of politeness or to break it; its index leads to all of them, over ports of 127.0.0.1. A polite crawler may
// leave some hosts alone before it has seen all of them: what it does not fetch there is not held against it.
//
//	board := scoreboard.New("examplebot", false)
//	err := board.Start()
//	…the crawler begins at board.Seed()…
//	score := board.Judge(scoreboard.Ending{Shown: true})
//
// It hides which sites there are, and how each rule is judged: both stand together, in board.go and board.txt. The
// judges know what crawltest's referee lets them know of the log (crawltest.Trial), and no more.
package scoreboard
