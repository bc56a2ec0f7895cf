package outreach

func replyTo(subject string) string { return string(appendReply(nil, []byte(subject))) }
