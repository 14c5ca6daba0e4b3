//! Word lists for detecting follow-up turns, in several languages.
//!
//! A word belongs here if it refers to the conversation itself (what was said, what was done, which of two) or to the
//! routine of working with an agent (commit, test, retry) in any repository. Words that may be a repository's topic do
//! not. All tables are in lower case and sorted by bytes, for binary search.

/// Words that refer to the conversation, or answer it.
#[rustfmt::skip]
pub(super) const MARKS: &[&str] = &[
    "above", "again", "agree", "agreed", "almost", "already", "alright", "also", "anything", "anyway", "asked",
    "awesome", "back", "before", "beginning", "better", "both", "cheers", "continue", "cool", "done", "earlier",
    "either", "else", "enough", "everything", "everywhere", "exactly", "excellent", "fine", "first", "forget",
    "forgot", "former", "further", "good", "great", "hang", "here", "hm", "hmm", "idea", "instead", "it", "its", "k",
    "last", "later", "latter", "less", "lgtm", "longer", "mean", "meant", "meanwhile", "mind", "more", "nah", "never",
    "next", "nice", "no", "nope", "nothing", "now", "ok", "okay", "once", "one", "ones", "oops", "other", "others",
    "perfect", "please", "previous", "previously", "proceed", "redo", "rest", "resume", "retry", "revert", "right",
    "said", "same", "second", "shorter", "simpler", "skip", "so", "something", "sorry", "still", "stop", "suggested",
    "suggestion", "sure", "thank", "thanks", "that", "them", "then", "there", "these", "they", "third", "this",
    "those", "thx", "told", "too", "undo", "wait", "way", "whatever", "wonderful", "worse", "wrong", "yeah", "yep",
    "yes", "yet", "yup",
];

/// Words for an agent's routine steps and their results.
#[rustfmt::skip]
pub(super) const PROCESS: &[&str] = &[
    "abort", "accept", "add", "amend", "answer", "apply", "approve", "approved", "branch", "build", "bump", "cancel",
    "change", "changed", "changes", "check", "checkout", "ci", "clean", "cleanup", "clear", "close", "commit",
    "commits", "committed", "compile", "confirm", "correct", "create", "cut", "delete", "deleted", "deploy",
    "describe", "diff", "disable", "draft", "drop", "edit", "error", "errors", "execute", "explanation", "fail",
    "failed", "failing", "fails", "failure", "finish", "finished", "fix", "fixed", "format", "formatted", "green",
    "happened", "implement", "install", "issue", "keep", "leave", "left", "lint", "list", "local", "locally", "main",
    "master", "merge", "minor", "morning", "move", "new", "open", "option", "pass", "passed", "passes", "passing",
    "paste", "pasted", "phrase", "plan", "planned", "points", "pr", "problem", "pull", "push", "pushed", "question",
    "quick", "read", "rebase", "recommend", "recommended", "red", "refactor", "release", "remember", "remove",
    "rename", "repeat", "rephrase", "report", "request", "rerun", "restart", "result", "results", "review", "rewrite",
    "rollback", "run", "running", "save", "send", "ship", "short", "simplify", "squash", "stage", "staged", "start",
    "started", "stash", "step", "steps", "suggest", "summarise", "summarize", "summary", "tag", "test", "tested",
    "tests", "tidy", "translate", "typecheck", "update", "upstream", "verify", "went", "window", "word", "worked", "write",
    "wrote",
];

/// Words for the parts of any answer. They are a follow-up only together with a word of [`MARKS`] or [`PROCESS`].
#[rustfmt::skip]
pub(super) const NEUTRAL: &[&str] = &[
    "approach", "argument", "bit", "bug", "bullet", "bullets", "case", "cases", "class", "code", "comment",
    "comments", "connection", "description", "detail", "details", "difference", "doc", "docs", "document", "example",
    "examples", "file", "files", "folder", "function", "functions", "language", "line", "lines", "log", "logs",
    "message", "messages", "method", "name", "names", "opinion", "output", "paragraph", "part", "parts", "reason",
    "section", "sentence", "solution", "stuff", "style", "terminal", "text", "title", "tone", "type", "types",
    "variable", "variant", "version", "versions", "warning", "warnings", "words",
];

/// [`MARKS`] of German, French, Spanish, Portuguese, Italian, Dutch, Polish and Russian.
#[rustfmt::skip]
pub(super) const FOREIGN_MARKS: &[&str] = &[
    "adelante", "adesso", "agora", "ahora", "ainsi", "alors", "alsjeblieft", "altra", "altro", "ancora", "ander",
    "andere", "anderen", "anders", "annule", "annuler", "annulla", "anterior", "antes", "après", "arrête", "aspetta",
    "assim", "así", "attends", "aussi", "autre", "autres", "avant", "avanti", "bedankt", "beide", "bene", "beter",
    "bien", "bitte", "boa", "bom", "bon", "bueno", "cela", "celle", "celui", "certo", "claro", "cofnij", "continua",
    "continuer", "continúa", "correcto", "così", "czekaj", "dalej", "dan", "danach", "dank", "danke", "dankeschön",
    "dankjewel", "dann", "dasselbe", "deixa", "deja", "depois", "dernier", "dernière", "desfaz", "deshaz", "después",
    "deuxième", "dobra", "dobrze", "doe", "door", "dopo", "dort", "dritte", "druga", "drugi", "dzięki", "dziękuję",
    "déjalo", "eben", "eerste", "egal", "einfacher", "encore", "ensuite", "erklär", "erkläre", "erneut", "errado",
    "erste", "ersten", "eso", "espera", "fai", "fallo", "falsch", "faux", "favor", "favore", "faz", "faça", "fertig",
    "fout", "ga", "gemacht", "gemeint", "genau", "gerade", "gesagt", "geändert", "giusto", "gleiche", "goed", "graag",
    "gracias", "grazie", "gut", "halt", "haz", "hazlo", "hier", "igual", "inna", "inny", "intenta", "intentarlo",
    "inténtalo", "isso", "ja", "jasne", "jep", "jeszcze", "jo", "juist", "klar", "kontynuuj", "kürzer", "laatste",
    "laisse", "laissez", "lass", "lasse", "lepiej", "letzte", "letzten", "lieber", "liever", "listo", "los", "luego",
    "länger", "maak", "mach", "mache", "machen", "machst", "maintenant", "mal", "meglio", "mejor", "melhor", "merci",
    "mesma", "mesmo", "mets", "mieux", "misma", "mismo", "même", "następny", "nee", "nein", "nie", "noch", "nochmal",
    "nog", "non", "nova", "novamente", "novo", "nu", "nuevamente", "nuevo", "nuovo", "não", "nächste", "nächsten",
    "obrigada", "obrigado", "okej", "opnieuw", "ora", "ostatni", "ostatnia", "otra", "otro", "otros", "oui", "outra",
    "outro", "para", "parfait", "passe", "passt", "perfecto", "perfeito", "perfekt", "perfetto", "pierwsza",
    "pierwszy", "pire", "plaît", "poi", "ponownie", "poprzedni", "potem", "precedente", "premier", "première",
    "prima", "primeira", "primeiro", "primera", "primero", "primo", "probeer", "prossimo", "proszę", "précédent",
    "précédente", "próxima", "próximo", "quello", "questo", "raz", "recommence", "recommencer", "refais", "repete",
    "repite", "reprends", "repítelo", "richtig", "ripeti", "riprova", "rückgängig", "samo", "sbagliato", "seconda",
    "segue", "seguir", "segunda", "segundo", "si", "siga", "sigue", "siguiente", "sim", "spróbuj", "stattdessen",
    "stessa", "stesso", "stopp", "stp", "suite", "suivant", "suivante", "super", "sì", "sí", "tak", "también",
    "tenta", "tente", "teraz", "terug", "to", "tomber", "tous", "tout", "toute", "tweede", "ultima", "ultimo", "va",
    "vale", "variante", "vas", "verder", "versuch", "versuche", "vez", "volgende", "volta", "vorher", "vorhin",
    "vorige", "vorschlag", "vrai", "vuelva", "vuelve", "wacht", "warte", "weer", "weiter", "weitermachen", "wieder",
    "zelfde", "znowu", "zrób", "zurück", "zweite", "zweiten", "ça", "última", "último", "świetnie", "źle", "верни",
    "вторая", "второй", "да", "давай", "дальше", "делай", "другая", "другой", "еще", "ещё", "же", "заново", "ладно",
    "лучше", "неправильно", "нет", "ок", "опять", "отлично", "отмени", "первая", "первый", "повтори", "повторите",
    "повторить", "подожди", "пожалуйста", "понятно", "попробуй", "последний", "последняя", "потом", "правильно",
    "предыдущий", "продолжай", "продолжайте", "сделай", "сейчас", "следующий", "снова", "спасибо", "стоп", "теперь",
    "то", "хорошо",
];

/// [`PROCESS`] of the same languages.
#[rustfmt::skip]
pub(super) const FOREIGN_PROCESS: &[&str] = &[
    "altera", "arregla", "aufräumen", "borra", "błąd", "błędy", "cambia", "cambios", "changements", "comita",
    "commite", "commitea", "commiteer", "commiten", "committe", "committen", "correggi", "corrige", "corriger",
    "draai", "ejecuta", "erklären", "erreur", "erreurs", "erro", "errore", "errores", "errori", "erros", "esegui",
    "executa", "explica", "explique", "expliquer", "expliquez", "explícalo", "explícame", "fasse", "fehler", "fouten",
    "herstel", "kurz", "lance", "lancer", "leg", "lösche", "löschen", "montre", "montrez", "mostra", "muestra",
    "napraw", "pokaż", "popraw", "pousse", "prueba", "pruebas", "prüfe", "prüfen", "resumen", "resumo", "riassumi",
    "roda", "räum", "résume", "résumé", "samenvatting", "schreib", "schreibe", "spiega", "spiegalo", "spiegamelo",
    "spiegami", "starte", "sube", "supprime", "testa", "teste", "testen", "testes", "testy", "toon", "uit",
    "umbenennen", "uruchom", "vérifie", "wyjaśnij", "zeig", "zeige", "zeigen", "zmiany", "zusammen",
    "zusammenfassung", "ändere", "ändern", "änderung", "änderungen", "запусти", "исправь", "коммит", "объясни",
    "ошибка", "покажи", "проверь", "тесты", "удали",
];

/// Function words of the same languages; those of English are the stop words of the index.
#[rustfmt::skip]
pub(super) const FOREIGN_IDLE: &[&str] = &[
    "aan", "aber", "ai", "al", "ale", "algo", "alla", "alle", "alles", "als", "anche", "ao", "aos", "au", "auch",
    "auf", "aus", "aux", "avec", "bei", "bez", "bij", "bin", "bis", "być", "był", "ce", "ces", "cet", "cette", "che",
    "chi", "co", "com", "come", "comme", "como", "con", "cosa", "cual", "cuando", "cuál", "cuáles", "cuándo", "czy",
    "cómo", "da", "dal", "dalla", "dans", "das", "dass", "dat", "de", "dei", "dein", "del", "della", "delle", "dem",
    "den", "der", "des", "desde", "deze", "di", "die", "dies", "diese", "diesen", "dieser", "dieses", "dir", "dit",
    "dla", "doch", "donc", "donde", "dont", "dos", "dove", "du", "durch", "dónde", "een", "ein", "eine", "einem",
    "einen", "einer", "el", "ela", "ele", "eles", "ella", "elle", "elles", "ellos", "em", "en", "entre", "er", "era",
    "es", "esa", "ese", "essa", "esse", "est", "esta", "este", "esto", "estos", "está", "están", "estão", "et", "eu",
    "euch", "faire", "fait", "faut", "foi", "fue", "für", "gdzie", "geen", "gegen", "gli", "ha", "hab", "habe",
    "haben", "hacer", "hai", "hast", "hasta", "hat", "hay", "heb", "hebben", "heeft", "het", "hij", "ho", "hoe",
    "ich", "ihr", "ik", "il", "ils", "im", "io", "ist", "isto", "jak", "jaki", "jakie", "jako", "je", "jest", "jetzt",
    "jij", "już", "já", "kan", "kann", "kannst", "kein", "keine", "kiedy", "która", "które", "który", "kun", "können",
    "könnten", "könntest", "la", "las", "le", "les", "leur", "lhe", "lo", "loro", "lui", "ma", "maar", "mais", "mam",
    "man", "mas", "masz", "mein", "meine", "mes", "met", "meu", "mi", "mich", "mijn", "minha", "mio", "mir", "mis",
    "mit", "mnie", "moet", "moi", "mon", "może", "możemy", "możesz", "muss", "muy", "na", "naar", "nach", "nad",
    "nas", "ne", "nel", "nella", "nem", "nicht", "niech", "niet", "nos", "nous", "num", "nur", "ob", "od", "oder",
    "ohne", "om", "onde", "ons", "ont", "ook", "op", "os", "ou", "où", "par", "pas", "pela", "pelo", "per", "perché",
    "pero", "peut", "peux", "più", "plus", "po", "pod", "pode", "podes", "pois", "por", "porque", "pour", "pourquoi",
    "pouvez", "przez", "przy", "puede", "puedes", "puoi", "può", "qu", "quais", "qual", "quale", "quali", "quand",
    "quando", "que", "quel", "quella", "quelle", "quelles", "quels", "quem", "questa", "qui", "quién", "quoi", "qué",
    "sa", "sans", "se", "sei", "sein", "sem", "ser", "ses", "seu", "seul", "seule", "sich", "sie", "sin", "sind",
    "się", "sobre", "soll", "sollen", "solo", "son", "sono", "sont", "su", "sua", "sul", "sulla", "sur", "sus", "são",
    "są", "ta", "tam", "também", "te", "tego", "tej", "tem", "ten", "tes", "ti", "tiene", "toi", "ton", "tot", "tra",
    "tu", "tutaj", "ty", "tylko", "um", "uma", "un", "una", "unas", "und", "une", "uno", "unos", "uns", "unter",
    "vai", "van", "vi", "viene", "você", "vom", "von", "voor", "vor", "vos", "votre", "vous", "waar", "waarom",
    "wann", "wanneer", "warum", "wat", "wel", "welche", "welcher", "welches", "welke", "wenn", "wer", "werden", "wie",
    "wij", "wir", "wird", "wo", "worden", "wordt", "wozu", "wurde", "würdest", "ya", "za", "ze", "zich", "zijn", "zo",
    "zou", "zu", "zum", "zur", "zwischen", "à", "às", "è", "être", "über", "że", "а", "без", "бы", "был", "была",
    "было", "быть", "в", "вам", "вас", "во", "вот", "вы", "где", "для", "до", "его", "ее", "если", "есть", "за", "и",
    "из", "или", "их", "к", "как", "какая", "какие", "какой", "ко", "когда", "кто", "ли", "мне", "может", "можете",
    "можешь", "мы", "на", "не", "ни", "но", "о", "об", "он", "она", "они", "от", "по", "под", "почему", "при", "с",
    "так", "такой", "там", "ты", "у", "что", "чтобы", "эта", "эти", "это", "этот", "я",
];

/// Phrases in Chinese, Japanese and Korean; a run without spaces is matched phrase by phrase.
#[rustfmt::skip]
pub(super) const UNSPACED: &[&str] = &[
    "ありがとう", "あれ", "いい", "いいえ", "お願い", "お願いします", "か", "が", "ください", "この", "これ", "さっき", "した", "して", "そう", "その", "それ",
    "で", "です", "と", "どうして", "なぜ", "に", "ね", "の", "は", "はい", "ます", "まとめて", "も", "もう", "もう一度", "もっと", "やり直し", "やり直して",
    "よ", "を", "コミット", "テスト", "プッシュ", "一下", "一度", "一次", "一点", "上一个", "下一个", "下一步", "不", "不对", "不是", "个", "为什么", "也",
    "了", "了解", "什么", "何", "你", "修复", "修改", "修正", "做", "停", "停止", "元に", "再", "再来", "再试", "刚才", "別", "前", "另一个", "可以",
    "同じ", "吧", "嗯", "回滚", "大丈夫", "好", "好的", "完成", "実行", "对", "就", "待って", "总结", "我", "戻して", "把", "推送", "提交", "撤销", "改",
    "方案", "是", "是的", "更", "最初", "最後", "次", "止めて", "没问题", "测试", "然后", "现在", "的", "直して", "短", "短く", "种", "第一", "第三",
    "第二", "等一下", "等等", "简短", "続き", "続けて", "继续", "行", "解释", "詳しく", "説明", "试试", "详细", "请", "谢谢", "运行", "还是", "这", "这个",
    "这样", "進めて", "違う", "那", "那个", "那样", "都", "重试", "错误", "가", "감사", "감사합니다", "계속", "고마워", "고마워요", "고쳐", "그", "그거",
    "그것", "그럼", "그리고", "기다려", "네", "는", "다른", "다시", "다음", "더", "도", "되돌려", "두", "로", "를", "마지막", "말고", "멈춰", "무엇",
    "뭐", "방금", "번", "번째", "설명", "설명해", "수정", "실행", "아니", "아니오", "아니요", "예", "왜", "요약", "으로", "은", "을", "이", "이거",
    "이것", "저", "전", "좋습니다", "좋아", "좋아요", "주세요", "줘", "지금", "진행", "진행해", "짧게", "첫", "취소", "커밋", "커밋해", "테스트", "푸시",
    "하세요", "한", "한번", "해", "해주세요", "해줘",
];

/// Words that begin a question. "do" and "have" are missing, because they begin orders.
#[rustfmt::skip]
pub(super) const INTERROGATIVES: &[&str] = &[
    "are", "comment", "cuál", "cuáles", "cuándo", "czy", "cómo", "did", "dlaczego", "does", "dove", "dónde", "gdzie",
    "has", "hoe", "how", "is", "jak", "kiedy", "która", "które", "który", "onde", "où", "perché", "pourquoi", "quais",
    "qual", "quale", "quali", "quand", "quando", "quel", "quelle", "quelles", "quels", "qui", "qué", "sind", "waar",
    "waarom", "wann", "wanneer", "warum", "was", "wat", "welche", "welcher", "welches", "welke", "wer", "were", "what",
    "when", "where", "which", "who", "whose", "why", "wie", "wo", "wozu", "где", "как", "какая", "какие", "какой",
    "когда", "кто", "почему",
];

/// Words that ask for a way or a place.
#[rustfmt::skip]
pub(super) const WAYS: &[&str] = &[
    "comment", "cómo", "dove", "dónde", "gdzie", "hoe", "how", "jak", "onde", "où", "waar", "where", "wie", "wo",
    "где", "как",
];

/// Words that may open any sentence.
#[rustfmt::skip]
pub(super) const OPENERS: &[&str] = &[
    "a", "aber", "ah", "ale", "also", "and", "but", "e", "en", "et", "gut", "hm", "hmm", "i", "ja", "ma", "maar",
    "mais", "mas", "nee", "nein", "no", "non", "now", "oh", "ok", "okay", "oui", "pero", "sim", "so", "sì", "sí",
    "tak", "then", "und", "wait", "well", "y", "yes", "а", "да", "и", "нет", "но",
];

/// Word pairs that make a question an order, or a question about the agent.
#[rustfmt::skip]
pub(super) const TO_AGENT: &[(&str, &str)] = &[
    ("did", "you"), ("have", "you"), ("hast", "du"), ("as", "tu"), ("avez", "vous"), ("heb", "je"), ("can", "you"), ("could", "you"), ("will", "you"), ("would", "you"),
    ("kannst", "du"), ("könntest", "du"), ("würdest", "du"), ("peux", "tu"), ("tu", "peux"),
    ("pouvez", "vous"), ("kun", "je"), ("kan", "je"),
];
