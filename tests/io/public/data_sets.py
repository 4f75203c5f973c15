"""Data sets of answers with rewards, labels or verdicts, as hubs have them."""

from public.shape import FOUR, FOUR_IN_WORDS, OF_FOUR, Shape, chat

QUESTIONS = ("Add 17 and 26.", "Name a prime above 7.")


def rows(make):
    """A row for each reward of the two prompts: make(prompt, answer, reward), both numbered from 0."""
    return [make(p, a, reward) for p, own in enumerate(FOUR) for a, reward in enumerate(own)]


def prompts(make):
    """A row for each prompt: make(prompt, its rewards)."""
    return [make(p, list(own)) for p, own in enumerate(FOUR)]


NO_REWARD = "no reward among the columns"

SHAPES = (
    Shape(
        "open-r1.parquet",
        prompts(
            lambda p, own: {
                "problem": QUESTIONS[p],
                "uuid": f"u{p}",
                "is_reasoning_complete": [True] * 4,
                "generations": [f"<think>{a}</think>" for a in range(4)],
                "correctness_math_verify": [bool(r) for r in own],
                "correctness_count": int(sum(own)),
            }
        ),
        f"OpenR1: generations and, as long, two lists of flags; one of them says by its name "
        f"that it is the outcome. True is 1. {FOUR_IN_WORDS}",
        ("correctness_math_verify",),
        ("@file", "@line"),
        2,
        OF_FOUR,
        args=(("--explode", "correctness_math_verify", "--reward", "correctness_math_verify"),),
    ),
    Shape(
        "pass_rates.jsonl",
        [
            {"problem": text, "answer": "43", "difficulty": f"{3 + at}/8"}
            for at, text in enumerate(QUESTIONS * 2)
        ],
        "Problems with a pass rate as text (Polaris): no answers, so no rewards.",
        said=(NO_REWARD,),
    ),
    Shape(
        "solve_rate.parquet",
        [
            {
                "problem": f"{text} {at}",
                "answer": "43",
                "source": "orca",
                "domain": ["Algebra"],
                "llama8b_solve_rate": at / 8,
            }
            for at, text in enumerate(QUESTIONS * 2)
        ],
        "Problems with a solve rate (Big-Math): a figure of a problem, not the reward of an answer.",
        said=(NO_REWARD,),
    ),
    Shape(
        "dapo-math.parquet",
        [
            {
                "data_source": "math_dapo",
                "prompt": chat(text),
                "ability": "MATH",
                "reward_model": {"ground_truth": "43", "style": "rule-lighteval/MATH_v2"},
                "extra_info": {"index": f"i{at}"},
            }
            for at, text in enumerate(QUESTIONS)
        ],
        "A training set for verl (DAPO-Math): reward_model says how to score, it is no reward.",
        said=(NO_REWARD,),
    ),
    Shape(
        "skywork-or1.jsonl",
        [
            {
                "data_source": "train-math-x",
                "prompt": chat(text),
                "ability": "math",
                "reward_model": {"ground_truth": '["43"]', "style": "rule"},
                "extra_info": {"index": at, "model_difficulty": {"Distill-1.5B": 6, "Distill-7B": 2}},
            }
            for at, text in enumerate(QUESTIONS)
        ],
        "Skywork-OR1's training set: counts of failures per model are a difficulty, no reward.",
        said=(NO_REWARD,),
    ),
    Shape(
        "ultrafeedback.jsonl",
        prompts(
            lambda p, own: {
                "source": "made_up",
                "instruction": QUESTIONS[p],
                "models": ["m0", "m1", "m2", "m3"],
                "completions": [
                    {
                        "annotations": {"helpfulness": {"Rating": "4"}},
                        "custom_system_prompt": "Be kind.",
                        "model": f"m{a}",
                        "principle": "honesty",
                        "response": f"answer {a}",
                        "critique": "…",
                        "fine-grained_score": 3.5,
                        "overall_score": 5 + 2 * r,
                    }
                    for a, r in enumerate(own)
                ],
                "correct_answers": ["43"],
                "incorrect_answers": ["44"],
            }
        ),
        "UltraFeedback: completions in a list of objects; overall_score is the whole, fine-grained_score a mean of aspects. "
        "7, 5, 5, 7 have the mean 6; 7, 7, 7, 5 have 6.5.",
        ("overall_score",),
        ("@file", "@line"),
        2,
        [1.0, -1.0, -1.0, 1.0, 0.5, 0.5, 0.5, -1.5],
        args=(("--explode", "completions", "--reward", "overall_score"),),
    ),
    Shape(
        "ultrafeedback_binarized.parquet",
        [
            {
                "prompt": text,
                "prompt_id": f"{at:064x}",
                "chosen": chat(text) + chat("43", "assistant"),
                "rejected": chat(text) + chat("44", "assistant"),
                "messages": chat(text) + chat("43", "assistant"),
                "score_chosen": 8.5,
                "score_rejected": 6.0,
            }
            for at, text in enumerate(QUESTIONS)
        ],
        "Pairs in one row, with the score of each half: two answers share a row, so no column is the reward of a row.",
        said=("score_chosen",),
    ),
    Shape(
        "nectar.jsonl",
        prompts(
            lambda p, own: {
                "prompt": f"\n\nHuman: {QUESTIONS[p]}\n\nAssistant: ",
                "answers": [
                    {"answer": f"answer {a}", "model": f"m{a}", "rank": float(a + 1)} for a in range(4)
                ],
                "turns": 1,
                "num_responses": 4,
                "source": ["made_up"],
                "good_natured": True,
            }
        ),
        "Nectar ranks the answers of a prompt: 1 is best, so a rank is no reward.",
        said=(NO_REWARD,),
    ),
    Shape(
        "helpsteer2.jsonl",
        rows(
            lambda p, a, r: {
                "prompt": QUESTIONS[p],
                "response": f"answer {a}",
                "helpfulness": int(4 * r),
                "correctness": 3,
                "coherence": 4,
                "complexity": 1,
                "verbosity": a,
            }
        ),
        "HelpSteer2 has five ratings and no total: which of them, or with which weights, has to be said.",
        said=(NO_REWARD,),
    ),
    Shape(
        "helpsteer3.jsonl",
        [
            {
                "domain": "general",
                "language": "english",
                "context": chat(text),
                "response1": "43",
                "response2": "44",
                "overall_preference": -2,
            }
            for text in QUESTIONS * 2
        ],
        "A preference between two answers of a row, from −3 to 3: no reward of a row.",
        said=(NO_REWARD,),
    ),
    Shape(
        "preference_pairs.parquet",
        [
            {
                "prompt": text,
                "chosen": "43",
                "chosen_model": "m0",
                "rejected": "44",
                "rejected_model": "m1",
                "subset": "math",
                "id": at,
            }
            for at, text in enumerate(QUESTIONS * 2)
        ],
        "RewardBench's pairs: better and worse, no number.",
        said=(NO_REWARD,),
    ),
    Shape(
        "math-shepherd.jsonl",
        [
            {"input": f"{text} Step 1: … ки", "label": f"{text} Step 1: … +", "task": "GSM8K"}
            for text in QUESTIONS * 2
        ],
        "Math-Shepherd marks steps inside a text: no reward among the columns.",
        said=(NO_REWARD,),
    ),
    Shape(
        "best_of_n.jsonl",
        prompts(
            lambda p, own: {
                "problem": QUESTIONS[p],
                "solution": "…",
                "answer": "43",
                "subject": "Algebra",
                "level": 2,
                "unique_id": f"test/algebra/{p}.json",
                "completions": [f"answer {a}" for a in range(4)],
                "scores": [[0.5, r] for r in own],
                "agg_scores": own,
                "pred": "43",
                "completion_tokens": [10, 11, 12, 13],
            }
        ),
        "Search-and-learn: scores are those of the steps of each completion, agg_scores one number each, and that is the reward. "
        + FOUR_IN_WORDS,
        ("agg_scores",),
        ("@file", "@line"),
        2,
        OF_FOUR,
        args=(("--explode", "agg_scores", "--reward", "agg_scores"),),
    ),
    Shape(
        "on_policy_pairs.parquet",
        prompts(
            lambda p, own: {
                "prompt_id": f"id{p}",
                "prompt": QUESTIONS[p],
                "all_generated_responses": [f"answer {a}" for a in range(4)],
                "all_rm_scores": own,
                "chosen": chat("answer 0", "assistant"),
                "rejected": chat("answer 1", "assistant"),
            }
        ),
        "SimPO's on-policy sets: all responses and their scores in lists, the pair made of them beside. "
        + FOUR_IN_WORDS,
        ("all_rm_scores",),
        ("prompt_id",),
        2,
        OF_FOUR,
        args=(("--explode", "all_rm_scores", "--reward", "all_rm_scores"),),
    ),
    Shape(
        "judged_rollouts.jsonl",
        prompts(
            lambda p, own: {
                "question": QUESTIONS[p],
                "gold": "43",
                "rollouts": [
                    {"text": f"answer {a}", "reward": r, "num_tokens": 10 + a} for a, r in enumerate(own)
                ],
            }
        ),
        "Rollouts inside their question, a reward in each. " + FOUR_IN_WORDS,
        ("reward",),
        ("@file", "@line"),
        2,
        OF_FOUR,
    ),
    Shape(
        "verified_responses.jsonl",
        rows(
            lambda p, a, r: {
                "problem_id": f"vfm_{p}",
                "task_type": "verifiable_math",
                "prompt": QUESTIONS[p],
                "gold_standard_solution": "43",
                "verification_info": '{"ground_truth": "43"}',
                "metadata": "{}",
                "response_id": f"vfm_{p}_{a}",
                "llm_response": f"answer {a}",
                "score": r,
                "verification_result_info": "{}",
            }
        ),
        "SYNTHETIC-1: a row per response, score is its reward, response_id names the row. " + FOUR_IN_WORDS,
        ("score",),
        ("problem_id",),
        2,
        OF_FOUR,
    ),
    Shape(
        "pass_sequence.parquet",
        prompts(
            lambda p, own: {
                "style": "instruct",
                "question_id": f"Made_{p}",
                "question": QUESTIONS[p],
                "solution": "…",
                "gpt_pass_sequence": [int(r) for r in own],
                "gpt_pass_trial_num": 4,
                "gpt_pass_percentage": sum(own) / 4,
                "gpt_difficulty": "easy",
            }
        ),
        "KodCode keeps the outcome of every trial in a list of 0 and 1, without the answers: named, it is read as any list. "
        + FOUR_IN_WORDS,
        ("gpt_pass_sequence",),
        ("@file", "@line"),
        2,
        OF_FOUR,
        args=(("--explode", "gpt_pass_sequence", "--reward", "gpt_pass_sequence"),),
    ),
    Shape(
        "solutions_with_pass_rate.jsonl",
        rows(
            lambda p, a, r: {
                "expected_answer": "43",
                "problem_type": "has_answer_extracted",
                "problem_source": "made_up",
                "generation_model": "m0",
                "pass_rate_72b_tir": "0.75",
                "problem": QUESTIONS[p],
                "generated_solution": f"answer {a}",
                "inference_mode": "cot",
            }
        ),
        "OpenMathReasoning: several solutions of a problem and its pass rate as text; no row has a reward.",
        said=(NO_REWARD,),
    ),
    Shape(
        "safety_pairs.jsonl",
        [
            {
                "prompt": text,
                "response_0": "43",
                "response_1": "44",
                "is_response_0_safe": True,
                "is_response_1_safe": False,
                "better_response_id": 0,
                "safer_response_id": 0,
            }
            for text in QUESTIONS * 2
        ],
        "PKU-SafeRLHF: verdicts on two answers of a row, ids of the better one.",
        said=(NO_REWARD,),
    ),
    Shape(
        "message_tree.jsonl",
        [
            {
                "message_id": f"m{at}",
                "parent_id": None,
                "text": text,
                "role": "prompter",
                "lang": "en",
                "review_count": 3,
                "rank": None,
                "synthetic": False,
            }
            for at, text in enumerate(QUESTIONS * 2)
        ],
        "OpenAssistant's messages: replies with ranks, no rewards.",
        said=(NO_REWARD,),
    ),
    Shape(
        "kaggle.csv",
        "prompt_id,model,response,score\n"
        + "".join(f"{p},m{a},answer {a},{r}\n" for p, own in enumerate(FOUR) for a, r in enumerate(own)),
        "A table of answers of several models to a prompt, with one score each. " + FOUR_IN_WORDS,
        ("score",),
        ("prompt_id",),
        2,
        OF_FOUR,
    ),
    Shape(
        "sharegpt.jsonl",
        rows(
            lambda p, a, r: {
                "conversations": [
                    {"from": "system", "value": "Think."},
                    {"from": "human", "value": QUESTIONS[p]},
                    {"from": "gpt", "value": f"answer {a}"},
                ],
                "reward": r,
            }
        ),
        f"Conversations as ShareGPT writes them: the prompt is all that stands before the answer. {FOUR_IN_WORDS}",
        ("reward",),
        ("conversations.prompt",),
        2,
        OF_FOUR,
        said=("the prompt is what stands before the answer in 'conversations'",),
    ),
    Shape(
        "kto.jsonl",
        rows(lambda p, a, r: {"prompt": QUESTIONS[p], "completion": f"answer {a}", "label": bool(r)}),
        f"Unpaired preferences: a label per answer, true is 1. {FOUR_IN_WORDS}",
        ("label",),
        ("prompt",),
        2,
        OF_FOUR,
        args=(("--reward", "label"),),
    ),
    Shape(
        "reward_parts.parquet",
        rows(
            lambda p, a, r: {
                "Prompt": QUESTIONS[p],
                "Response": f"answer {a}",
                "rewards": {"accuracy": r, "format": 0.5},
            }
        ),
        f"The parts of the reward in an object, with no total among them: all are proposed. {FOUR_IN_WORDS}",
        ("rewards.accuracy", "rewards.format"),
        ("Prompt",),
        2,
        OF_FOUR,
        args=(("--reward", "rewards.accuracy", "--reward", "rewards.format"),),
    ),
    Shape(
        "tokens.parquet",
        rows(
            lambda p, a, r: {"prompt_token_ids": [1, 2, 3 + p], "completion_ids": [4] * (3 + a), "reward": r}
        ),
        f"Prompts as tokens only. {FOUR_IN_WORDS}",
        ("reward",),
        ("prompt_token_ids",),
        2,
        OF_FOUR,
        args=(("--prompt-col", "prompt_token_ids"),),
    ),
    Shape(
        "answers_by_prompt.json",
        {
            QUESTIONS[p]: [{"answer": f"answer {a}", "reward": r} for a, r in enumerate(own)]
            for p, own in enumerate(FOUR)
        },
        "A document with a key per prompt: no columns, so no guess at one of the prompts.",
        said=("as if each key were a prompt; try jq -c",),
    ),
)
