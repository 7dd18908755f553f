// Package hostile has sites that misbehave, each in one way: slow, endless or broken answers, bombs, loops, a
// robots.txt of 50 MiB, names that lead to addresses that are not public. Each says what a correct crawler does about
// it (crawltest.Expect), and crawltest's referee judges that.
//
// Sites and Guarded are the whole door. How an answer comes to be ill is hidden: most are written over the connection
// itself (crawltest.Raw), and what is large is made while it is sent.
package hostile
