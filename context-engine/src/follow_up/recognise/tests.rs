use super::*;

const FOLLOW_UPS: &[&str] = &[
    "",
    "hi",
    "Thanks!",
    "yes, do it",
    "Commit and push.",
    "run the tests again",
    "2",
    "option 2 please",
    "no, the other one",
    "👍",
    "...",
    "make it shorter",
    "now fix the build",
    "do the same for the remaining two",
    "hm, that looks suspicious, can you check it again?",
    "great, now squash these commits",
    "please drop the last one and keep the rest",
    "what did you change?",
    "ja, mach das so",
    "erklär mir das bitte nochmal",
    "oui, continue comme ça",
    "merci, maintenant fais le commit",
    "sí, hazlo otra vez",
    "sim, pode continuar assim",
    "sì, vai avanti così",
    "nee, doe toch maar de andere",
    "tak, zrób to jeszcze raz",
    "да, продолжай",
    "нет, верни как было",
    "继续",
    "好的，提交吧",
    "はい、お願いします",
    "もう一度やり直して",
    "네, 계속 진행해 주세요",
    "go on",
    "fix that",
    "please drop the dots again",
    "can you also drop the dots there?",
    "no, keep it but mark it as deprecated",
    "did you test it?",
    "how did the tests go?",
    "where did you put it?",
    "how about the other case?",
    "why did you do it that way?",
    "what went wrong there?",
    "is it done?",
    "are the tests green now?",
    "weiter",
    "mach weiter, danke",
    "lass die Tests nochmal laufen",
    "hast du das nochmal geprüft?",
    "warum?",
    "vas-y, relance les tests",
    "pourquoi ?",
    "vale, sigue",
    "vale, haz el commit",
    "ok, vai em frente",
    "va bene, continua",
    "ga maar verder",
    "dobrze, kontynuuj",
    "почему?",
    "为什么？",
    "なぜですか？",
    "왜?",
];

const QUESTIONS: &[&str] = &[
    "fix the ledger",
    "why does replay fail?",
    "commit `parse_header` only",
    "test the tokenizer",
    "yes, but look at src/ledger.rs first",
    "the same for retryBudget",
    "no, I meant booking::replay",
    "again: \"connection reset by peer\"",
    "explain the checkpoint checksum",
    "hide an argument from short help only",
    "wie wird das Konto gesperrt",
    "comment fonctionne le registre des comptes",
    "この台帳の再生方法",
    "账本如何重放",
    "원장 재생은 어디에 있나요",
    "where do we compute the balance",
    "so are these still two stacks today or has that been merged?",
    "so are these still two stacks today or has that been merged",
    "How do I undo the last git commit but keep the changes?",
    "How do I undo the last commit but keep the changes?",
    "how do I run the tests?",
    "and how do we release?",
    "where are the tests?",
    "ok, and where is the build then?",
    "is that still used anywhere?",
    "is there a cache for this already?",
    "are those two queues the same?",
    "was that migrated?",
    "what is a shard here?",
    "which one is the retry budget now?",
    "does it still need a mutex?",
    "why is that a singleton?",
    "has the importer been removed already?",
    "wie mache ich den letzten Commit rückgängig?",
    "sind das noch immer zwei Warteschlangen?",
    "wo sind die Tests?",
    "est-ce que c'est encore une queue ?",
    "comment lancer les tests ?",
    "¿cómo ejecuto las pruebas?",
    "¿eso todavía usa una cola?",
    "isso ainda usa uma fila?",
    "dove sono i test?",
    "è ancora una coda quella?",
    "hoe draai ik de testen?",
    "is dat nog steeds een wachtrij?",
    "jak uruchomić testy?",
    "czy to jest jeszcze kolejka?",
    "как запустить тесты?",
    "это всё ещё очередь?",
    "那还是两个队列吗？",
    "それはまだキューですか？",
    "그건 아직 대기열인가요?",
];

#[test]
fn the_tables_are_sorted() {
    for table in
        [MARKS, PROCESS, NEUTRAL, FOREIGN_MARKS, FOREIGN_PROCESS, FOREIGN_IDLE, UNSPACED, INTERROGATIVES, WAYS, OPENERS]
    {
        assert!(table.is_sorted_by(|a, b| a < b), "{:?}", table.first());
    }
    let longest = UNSPACED.iter().map(|phrase| phrase.chars().count()).max();
    assert_eq!(longest, Some(LONGEST_PHRASE));
}

#[test]
fn follow_ups_are_detected() {
    let missed: Vec<_> = FOLLOW_UPS.iter().filter(|text| !is_follow_up(text, |_| false)).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn short_questions_are_no_follow_ups() {
    let mistaken: Vec<_> = QUESTIONS.iter().filter(|text| is_follow_up(text, |_| false)).collect();
    assert!(mistaken.is_empty(), "{mistaken:#?}");
}

#[test]
fn a_defined_name_makes_an_order_a_question() {
    let text = "and now do the same for the tokenizer";
    assert!(is_follow_up(text, |_| false));
    assert!(!is_follow_up(text, |word| word == "tokenizer"));
    assert!(is_follow_up("commit this", |_| true), "only content words are looked up");
}

#[test]
fn a_long_turn_is_no_follow_up() {
    assert!(!is_follow_up(&"again and ".repeat(11), |_| false));
    assert!(is_follow_up(&"again and ".repeat(10), |_| false));
}

#[test]
fn the_code_pattern_compiles_and_matches() {
    assert!(names_code("a::b") && names_code("x_y") && names_code("pass --force") && !names_code("well - no"));
}

#[test]
fn the_tables_have_many_cases_of_either_kind() {
    assert!(FOLLOW_UPS.len() >= 60 && QUESTIONS.len() >= 45);
}
