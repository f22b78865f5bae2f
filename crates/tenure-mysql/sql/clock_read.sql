SELECT {now_fragment}
